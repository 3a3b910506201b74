"""All that differs between vendors: one `DeviceBackend` each, and the table of those that ship with the tool."""
