"""Problems with worked solutions: chains of computations, and the errors that a careful reader finds in them."""
