import type { World } from './world.ts'

export interface Signals extends Disposable {
  /** True when the daemon stops because something went wrong inside it. */
  readonly failed: boolean
}

/**
 * Signals stop the daemon. Ctrl+C is a person's word that all of it should stop; the others come from the system, and the
 * sessions go on with the next daemon. So they do after an error that nobody caught: nothing can be relied on then but the store.
 */
export function catchSignals(world: Pick<World, 'stop' | 'log'>): Signals {
  let failed = false
  const onSignal = (signal: NodeJS.Signals) => world.stop(`it got ${signal}`, { goOn: signal !== 'SIGINT' })
  const onFailure = (error: unknown) => {
    failed = true
    world.log.error({ error }, 'uncaught failure')
    world.stop('something went wrong inside it; see pcc daemon logs', { goOn: true })
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  process.on('uncaughtException', onFailure)
  process.on('unhandledRejection', onFailure)
  // Whoever started us may have closed the other end.
  process.stderr.on('error', () => {})
  return {
    get failed() {
      return failed
    },
    [Symbol.dispose]() {
      for (const signal of SIGNALS) process.off(signal, onSignal)
      process.off('uncaughtException', onFailure)
      process.off('unhandledRejection', onFailure)
    },
  }
}

const SIGNALS: NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP']
