import { setImmediate as pause } from 'node:timers/promises'
import { HookOutbox } from '../supervisor/hooks/outbox.ts'
import type { DaemonContext } from './context.ts'

type ReplayContext = Pick<DaemonContext, 'paths' | 'log' | 'store' | 'stopping'>

const underWay = new WeakMap<ReplayContext, Promise<void>>()

/**
 * Stores what hooks reported while no daemon was there, slice by slice, so that other work goes on in between. It happens at the start
 * and after every hook: one that saw no daemon may write after the start. A second call waits for the first. Each event has an
 * id and is stored once, so that a failure in the middle costs nothing but the same slice again.
 */
export function replayOutbox(daemon: ReplayContext): Promise<void> {
  const known = underWay.get(daemon)
  if (known) return known
  const replay = storeAll(daemon)
    .catch(error => daemon.log.error({ error }, 'what hooks reported without the daemon could not be stored yet'))
    .finally(() => underWay.delete(daemon))
  underWay.set(daemon, replay)
  return replay
}

async function storeAll({ paths, store, stopping }: ReplayContext): Promise<void> {
  const outbox = new HookOutbox(paths)
  if (!outbox.hasRows()) return
  while (!stopping.aborted && (await outbox.replay(rows => store.observed.capture(rows)))) await pause()
}
