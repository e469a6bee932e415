# Made by `npm run clients` of _async/__init__.py. Do not edit it. Check: cd736abab56e1bb9112daa0849741069
