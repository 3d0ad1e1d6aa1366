import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { sessionMarker } from '../base/process/marker.ts'
import { sweepMarked } from '../base/process/sweep.ts'
import type { DaemonContext } from './context.ts'

export interface Signals extends Disposable {
  /** True when the daemon stops because something went wrong inside it. */
  readonly failed: boolean
}

/**
 * Signals stop the daemon. Ctrl+C is a person's word that all of it should stop; the others come from the system, and the
 * sessions go on with the next daemon. So they do after an error that nobody caught: nothing can be relied on then but the store.
 */
export function catchSignals(daemon: Pick<DaemonContext, 'stop' | 'log'>): Signals {
  let failed = false
  const onSignal = (signal: NodeJS.Signals) => daemon.stop(`it got ${signal}`, { goOn: signal !== 'SIGINT' })
  const onFailure = (error: unknown) => {
    failed = true
    daemon.log.error({ error }, 'uncaught failure')
    daemon.stop('something went wrong inside it; see pcc daemon logs', { goOn: true })
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

/** Agents end within a second or two; this is for the one that does not. */
const PATIENCE_MS = 10_000

/** What is left after a sweep is bookkeeping. */
const LAST_WAIT_MS = 2_000

export interface Draining {
  app: FastifyInstance
  /** Lets the event streams tell the rest and end. */
  settle(): void
}

/**
 * Takes the daemon down: agents stopped and their rows settled within a bound (whoever is left then is swept by the marker
 * in its environment), the end told to every stream, the server closed.
 */
export async function drain(daemon: DaemonContext, { app, settle }: Draining): Promise<void> {
  const { log, store, supervisor } = daemon
  log.info({ reason: daemon.stopping.reason, live: supervisor.liveCount }, 'daemon stopping')
  const closed = supervisor.close('the daemon was stopped', { goOn: daemon.cutsOff })
  if (!(await within(closed, PATIENCE_MS))) {
    await sweepLive(daemon)
    if (!(await within(closed, LAST_WAIT_MS))) await supervisor.abandon('the daemon was stopped')
  }
  const reason = String(daemon.stopping.reason)
  await store.append([{ actor: 'daemon', subject: 'daemon', kind: 'daemon.stopped', body: { reason } }])
  settle()
  await within(Promise.allSettled(daemon.streams), LAST_WAIT_MS)
  await app.close()
}

async function sweepLive({ supervisor, log }: DaemonContext): Promise<void> {
  for (const marker of supervisor.liveMarkers()) {
    const { killed, left } = await sweepMarked(sessionMarker(marker), { deadlineMs: LAST_WAIT_MS })
    log.warn({ killed: killed.length, left: left.length }, 'agent did not end by itself')
  }
}

/** Whether it came to an end in time. */
async function within(work: Promise<unknown>, ms: number): Promise<boolean> {
  const timer = new AbortController()
  const inTime = await Promise.race([
    work.then(() => true),
    sleep(ms, false, { signal: timer.signal, ref: true }).catch(() => false),
  ])
  timer.abort()
  return inTime
}
