/**
 * What the panel's sections share: they are drawn anew when one of their models changes, while they are seen.
 */
import { nullTranslator, TranslationBundle } from '@jupyterlab/translation';
import { LabIcon, ReactWidget } from '@jupyterlab/ui-components';
import { Message } from '@lumino/messaging';
import { ISignal, Signal } from '@lumino/signaling';
import * as React from 'react';
import { formatAge } from '../model/format';
import { IClock } from '../tokens';

/** Something that says when it has changed. */
export interface IChanging {
  readonly changed: ISignal<unknown, unknown>;
}

export const DOMAIN = 'glassloom';

const Trans = React.createContext(nullTranslator.load(DOMAIN));

/** The translation of the section that a component is in. */
export function useTrans(): TranslationBundle {
  return React.useContext(Trans);
}

const NoClock: IClock = {
  get nowMs() {
    return Date.now();
  },
  ticked: new Signal<IClock, void>({} as IClock)
};

const Clock = React.createContext(NoClock);

/**
 * The time by the server's clock, in milliseconds. The component that asks for it is drawn anew as time passes.
 *
 * @param stepMs - How often, at most.
 */
export function useNow(stepMs = 1_000): number {
  const clock = React.useContext(Clock);
  const [, setStep] = React.useState(0);
  React.useEffect(() => {
    const follow = (): void => setStep(Math.floor(clock.nowMs / stepMs));
    clock.ticked.connect(follow);
    return () => {
      clock.ticked.disconnect(follow);
    };
  }, [clock, stepMs]);
  return clock.nowMs;
}

const AGE_STEP_MS = 10_000;

/** How long ago something was, counted on. */
export function Age(props: {
  /** Seconds since the epoch, by the server's clock. */
  sinceS: number;
  /** What is said of it. */
  say?: (age: string) => string;
}): JSX.Element {
  const age = formatAge(useTrans(), useNow(AGE_STEP_MS) / 1000 - props.sinceS);
  return <>{props.say ? props.say(age) : age}</>;
}

export abstract class SectionWidget extends ReactWidget {
  constructor(
    protected readonly trans: TranslationBundle,
    private readonly _clock: IClock,
    models: (IChanging | null)[]
  ) {
    super();
    this.addClass('gl-SectionWidget');
    this._models = models.filter(model => model !== null);
    for (const { changed } of this._models) {
      changed.connect(this._onChanged, this);
    }
  }

  dispose(): void {
    for (const { changed } of this._models) {
      changed.disconnect(this._onChanged, this);
    }
    super.dispose();
  }

  protected abstract draw(): JSX.Element;

  protected render(): JSX.Element {
    return (
      <Trans.Provider value={this.trans}>
        <Clock.Provider value={this._clock}>{this.draw()}</Clock.Provider>
      </Trans.Provider>
    );
  }

  protected onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this.update();
  }

  private _onChanged(): void {
    if (this.isVisible) {
      this.update();
    }
  }

  private readonly _models: IChanging[];
}

export interface IIconButtonProps {
  icon: LabIcon;
  /** Its name for people; shown as a tooltip, too. */
  label: string;
  /** What it does, for tests. */
  action: string;
  isDisabled?: boolean;
  isPressed?: boolean;
  hasMenu?: boolean;
  onClick: (event: React.MouseEvent<HTMLButtonElement>) => void;
  onPointerDown?: (event: React.PointerEvent<HTMLButtonElement>) => void;
}

export function IconButton(props: IIconButtonProps): JSX.Element {
  return (
    <button
      className="gl-IconButton"
      title={props.label}
      aria-label={props.label}
      aria-pressed={props.isPressed}
      aria-haspopup={props.hasMenu ? 'menu' : undefined}
      data-action={props.action}
      disabled={props.isDisabled}
      onPointerDown={props.onPointerDown}
      onClick={event => {
        event.stopPropagation();
        props.onClick(event);
      }}
    >
      <props.icon.react tag={null} />
    </button>
  );
}

/** What is said where there is nothing to show. */
export function Hint(props: { children: React.ReactNode }): JSX.Element {
  return <div className="gl-Hint">{props.children}</div>;
}
