"""What all tests share."""

import signal

# Tests send the interrupt of Ctrl-C to themselves. A shell that starts them in the background has it
# ignored, by them and by their children, unless it is asked for again.
signal.signal(signal.SIGINT, signal.default_int_handler)
