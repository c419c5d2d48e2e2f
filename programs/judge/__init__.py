"""What an answer is worth: its proof, its verdict and its confidence. Nothing here changes an answer."""
