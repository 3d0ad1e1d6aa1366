import type { World } from './world.ts'

export interface Signals extends Disposable {
  /** True when the daemon stops because something went wrong inside it. */
  readonly failed: boolean
}

/** Signals stop the daemon; so does an error that nobody caught, after which nothing can be relied on but the store. */
export function catchSignals(world: Pick<World, 'stop' | 'log'>): Signals {
  let failed = false
  const onSignal = (signal: NodeJS.Signals) => world.stop(`it got ${signal}`)
  const onFailure = (error: unknown) => {
    failed = true
    world.log.error({ error }, 'uncaught failure')
    world.stop('something went wrong inside it; see pcc daemon logs')
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
