import type { Watchdog } from './watchdog.ts'

export interface Beginning extends AsyncDisposable {
  /** From now on there is something to lose. */
  begin(): void
}

/** A watchdog that begins with the first session: its thread costs 12 MB, which a daemon with nothing to do need not hold. */
export function watchdogFrom(watchdog: Watchdog): Beginning {
  let started: Promise<Disposable> | undefined
  return {
    begin() {
      started ??= import('./watchdog.ts').then(({ startWatchdog }) => startWatchdog(watchdog))
    },
    [Symbol.asyncDispose]: async () => (await started)?.[Symbol.dispose](),
  }
}
