"""What clusters have told, folded: pure, without plots, sockets or clocks."""
