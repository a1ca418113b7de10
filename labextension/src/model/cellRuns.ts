/**
 * How far the cells of one notebook are, as its kernel tells. It needs no server extension.
 *
 * The kernel's side is `engine/glassloom/notebook/cell_comm.py`. Messages are read from the kernel's iopub channel rather than
 * by a registered comm target: so they arrive in every view of a notebook, and in a page that was loaded while a cell ran.
 */
import { ISessionContext } from '@jupyterlab/apputils';
import { Kernel, KernelMessage } from '@jupyterlab/services';
import { JSONObject } from '@lumino/coreutils';
import { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';

export const COMM_TARGET = 'glassloom.cell';
export const CELLS_VERSION = 1;

export type CellOutcome =
  'running' | 'finished' | 'failed' | 'cancelled' | 'lost';

export interface ICounts {
  total: number;
  done: number;
  running: number;
  failed: number;
  /** Tasks per second; null: not known. */
  rate: number | null;
  eta_s: number | null;
  /** How long these tasks took on their workers' devices, as far as is known; left out where there are none. */
  device_s?: number;
}

export interface ILayer extends ICounts {
  name: string;
}

export interface ICellCluster {
  id: string;
  name: string;
  kind: string;
  workers: number;
  /** Workers that run a task. */
  busy: number;
  threads: number;
  memory_bytes: number;
  memory_limit_bytes: number | null;
  spilled_bytes: number;
  silent: boolean;
  ended: boolean;
}

export interface ICellRun {
  cluster: string;
  id: number;
  kind: string;
  label: string;
  outcome: CellOutcome;
  started_at: number;
  ended_at: number | null;
  done: number;
  total: number;
}

export interface ICellError {
  layer: string;
  exception: string;
  message: string;
  origin: string;
  count: number;
}

export interface IPrintedLine {
  worker: string;
  level: string;
  text: string;
}

/** One execution of a cell; times are seconds since the epoch by the kernel's clock. */
export interface ICellState {
  cell: string;
  execution: number;
  /** Whether the kernel runs the cell now, or only what it has started. */
  executing: boolean;
  outcome: CellOutcome;
  started_at: number;
  ended_at: number | null;
  tasks: ICounts;
  layers: ILayer[];
  /** Of which `layers` may be a part. */
  n_layers: number;
  clusters: ICellCluster[];
  peak_bytes: number;
  peak_spilled_bytes: number;
  /** The newest. */
  runs: ICellRun[];
  n_runs: number;
  errors: ICellError[];
  output: { lines: IPrintedLine[]; count: number };
}

/** What is known of a cell here. */
export interface ICellEntry {
  state: ICellState;
  /** When the state came, by this page's clock. */
  receivedMs: number;
  /** The kernel's time less this page's. */
  clockMs: number;
  isCancelling: boolean;
  /** The kernel speaks another version of these messages: nothing of the state can be told. */
  isOtherVersion: boolean;
}

const ENDED_KERNEL: ReadonlySet<Kernel.Status> = new Set([
  'restarting',
  'autorestarting',
  'terminating',
  'dead'
]);

export class CellRuns implements IDisposable {
  constructor(private readonly _session: ISessionContext) {
    _session.iopubMessage.connect(this._onMessage, this);
    _session.statusChanged.connect(this._onStatus, this);
    _session.kernelChanged.connect(this._onKernelChanged, this);
    _session.connectionStatusChanged.connect(this._onConnection, this);
    void this._ask();
  }

  /** The ids of the cells of which something has changed. */
  get changed(): ISignal<CellRuns, readonly string[]> {
    return this._changed;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Ids of the cells of which anything is known. */
  get cells(): string[] {
    return Array.from(this._entries.keys());
  }

  find(cell: string): ICellEntry | null {
    return this._entries.get(cell) ?? null;
  }

  /**
   * Forget the last execution of a cell, whose output is gone: it is executed again, or was cleared.
   *
   * What the kernel still tells of that execution is passed over. It tells of a next one only if that computes something.
   */
  forget(cell: string): void {
    const entry = this._entries.get(cell);
    if (!entry) {
      return;
    }
    // The next kernel counts executions from 1 again: it may have one of the same number.
    if (!this._ofEarlierKernels.delete(cell)) {
      this._forgotten.set(cell, entry.state.execution);
    }
    this._entries.delete(cell);
    this._changed.emit([cell]);
  }

  /**
   * Give up what a cell has started.
   *
   * A cell that executes is interrupted, as by the notebook's own button. What it has left on a cluster is given up by a
   * message, which reaches a kernel that is busy with another cell only if it has subshells.
   */
  async cancel(cell: string): Promise<void> {
    const entry = this._entries.get(cell);
    const kernel = this._session.session?.kernel;
    if (!entry || !kernel) {
      return;
    }
    this._set(cell, { ...entry, isCancelling: true });
    if (entry.state.executing) {
      try {
        await kernel.interrupt();
      } catch (error) {
        this._set(cell, { ...entry, isCancelling: false });
        throw error;
      }
    }
    await this._send(
      kernel,
      { ask: 'cancel', cell },
      !entry.state.executing && kernel.supportsSubshells
    );
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      Signal.clearData(this);
    }
  }

  private _onMessage(_: unknown, message: KernelMessage.IMessage): void {
    if (!KernelMessage.isCommMsgMsg(message)) {
      return;
    }
    const { comm_id, data } = message.content;
    const version = data?.glassloom_cells;
    if (typeof version !== 'number' || !Array.isArray(data.cells)) {
      return;
    }
    this._comm = comm_id;
    const states = data.cells as unknown as ICellState[];
    const nowS = typeof data.now === 'number' ? data.now : Date.now() / 1000;
    this._take(version, states, 1000 * nowS);
  }

  private _take(version: number, states: ICellState[], sentMs: number): void {
    const nowMs = Date.now();
    const told = states.filter(
      ({ cell, execution }) =>
        !this._forgotten.has(cell) || this._forgotten.get(cell) !== execution
    );
    for (const state of told) {
      this._forgotten.delete(state.cell);
      this._ofEarlierKernels.delete(state.cell);
      const before = this._entries.get(state.cell);
      this._entries.set(state.cell, {
        state:
          version === CELLS_VERSION
            ? state
            : { ...EMPTY_STATE, cell: state.cell },
        receivedMs: nowMs,
        clockMs: sentMs - nowMs,
        isCancelling:
          before?.isCancelling === true &&
          state.outcome === 'running' &&
          before.state.execution === state.execution,
        isOtherVersion: version !== CELLS_VERSION
      });
    }
    this._changed.emit(told.map(({ cell }) => cell));
  }

  private _onStatus(_: unknown, status: Kernel.Status): void {
    if (ENDED_KERNEL.has(status)) {
      this._endAll();
    }
  }

  private _onKernelChanged(): void {
    this._endAll();
    void this._ask();
  }

  private _onConnection(_: unknown, status: Kernel.ConnectionStatus): void {
    if (status === 'connected') {
      void this._ask();
    }
  }

  /** The kernel is gone, and nothing more will be heard of what it ran. */
  private _endAll(): void {
    this._comm = null;
    this._forgotten.clear();
    const changed = [];
    for (const [cell, entry] of this._entries) {
      this._ofEarlierKernels.add(cell);
      if (entry.state.outcome === 'running') {
        const ended_at = (Date.now() + entry.clockMs) / 1000;
        this._entries.set(cell, {
          ...entry,
          isCancelling: false,
          state: {
            ...entry.state,
            outcome: 'lost',
            executing: false,
            ended_at
          }
        });
        changed.push(cell);
      }
    }
    if (changed.length > 0) {
      this._changed.emit(changed);
    }
  }

  /** Ask the kernel what it knows: this page may be younger. It answers when it is idle; until then it tells what changes. */
  private async _ask(): Promise<void> {
    const kernel = this._session.session?.kernel;
    if (!kernel || kernel.isDisposed) {
      return;
    }
    try {
      const reply = await kernel.requestCommInfo({ target_name: COMM_TARGET });
      if (reply.content.status === 'ok' && !this._isDisposed) {
        for (const comm of Object.keys(reply.content.comms)) {
          this._comm = comm;
          await this._send(kernel, { ask: 'cells' }, false);
        }
      }
    } catch {
      // The kernel has ended or is another one: its successor will be asked.
    }
  }

  private async _send(
    kernel: Kernel.IKernelConnection,
    data: JSONObject,
    inSubshell: boolean
  ): Promise<void> {
    if (this._comm === null || kernel.isDisposed) {
      return;
    }
    let subshellId: string | undefined;
    if (inSubshell) {
      const reply = await kernel.requestCreateSubshell({}).done;
      subshellId = reply.content.subshell_id;
    }
    const message = KernelMessage.createMessage({
      msgType: 'comm_msg',
      channel: 'shell',
      username: kernel.username,
      session: kernel.clientId,
      subshellId: subshellId ?? null,
      content: { comm_id: this._comm, data }
    });
    const sent = kernel.sendShellMessage(message, false, true);
    await sent.done;
    if (subshellId !== undefined) {
      await kernel.requestDeleteSubshell({ subshell_id: subshellId }).done;
    }
  }

  private _set(cell: string, entry: ICellEntry): void {
    this._entries.set(cell, entry);
    this._changed.emit([cell]);
  }

  private readonly _changed = new Signal<CellRuns, readonly string[]>(this);
  private readonly _entries = new Map<string, ICellEntry>();
  /** The execution of each cell that is passed over. */
  private readonly _forgotten = new Map<string, number>();
  private readonly _ofEarlierKernels = new Set<string>();
  private _comm: string | null = null;
  private _isDisposed = false;
}

const EMPTY_STATE: ICellState = {
  cell: '',
  execution: 0,
  executing: false,
  outcome: 'lost',
  started_at: 0,
  ended_at: 0,
  tasks: {
    total: 0,
    done: 0,
    running: 0,
    failed: 0,
    rate: null,
    eta_s: null
  },
  layers: [],
  n_layers: 0,
  clusters: [],
  peak_bytes: 0,
  peak_spilled_bytes: 0,
  runs: [],
  n_runs: 0,
  errors: [],
  output: { lines: [], count: 0 }
};
