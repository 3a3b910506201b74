"""Compat plugins: what one vendor's cards need of pytest. A backend names them; they are loaded before any other plugin.

Each is a module with `compat_plugin(sink)`, which returns a pytest plugin. It tells the sink whatever it changes.
"""
