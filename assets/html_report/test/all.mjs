// usage: ALLOCTAP_RUN=path/to/alloctap-run node test/all.mjs
import './numbers_test.mjs';
import './use_test.mjs';
import './made_up_test.mjs';
import './game_test.mjs';
