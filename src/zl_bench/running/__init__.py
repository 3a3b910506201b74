"""From a switch and a suite to processes that ran: planning, launching, ending."""
