import './base.css';
import './clusters.css';
import './lists.css';
import './dialogs.css';
import './pane.css';
import './cell.css';
