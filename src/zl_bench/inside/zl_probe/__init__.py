"""The probe: what runs inside a measured process. Standard library and pytest only; it records and never judges."""
