import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { sessionMarker } from '../base/process/marker.ts'
import { sweepMarked } from '../base/process/sweep.ts'
import type { DaemonContext } from './context.ts'

export interface Signals extends Disposable {
  /** True if the daemon stops because of an internal failure. */
  readonly failed: boolean
}

/**
 * Signals stop the daemon. With Ctrl+C a person stops everything. The other signals come from the system, and the next daemon
 * resumes the sessions. It also resumes them after an uncaught error, when nothing but the store can be relied on.
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
  // The process that started us may have closed the other end.
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

/** Agents end within a second or two; one that has not ended after this long is swept. */
const PATIENCE_MS = 10_000

/** After a sweep only bookkeeping is left. */
const LAST_WAIT_MS = 2_000

export interface Draining {
  app: FastifyInstance
  /** Lets the event streams send the rest and end. */
  settle(): void
}

/**
 * Takes the daemon down: stops the agents and settles their rows within a bound (agents left then are swept by the marker in
 * their environment), sends the last events to every stream, and closes the server.
 */
export async function drain(daemon: DaemonContext, { app, settle }: Draining): Promise<void> {
  const { log, store, supervisor } = daemon
  log.info({ reason: daemon.stopping.reason, live: supervisor.liveCount }, 'daemon stopping')
  const closed = supervisor.close('the daemon was stopped', { goOn: daemon.cutsOff })
  if (!(await endsWithin(closed, PATIENCE_MS))) {
    await sweepLive(daemon)
    if (!(await endsWithin(closed, LAST_WAIT_MS))) await supervisor.abandon('the daemon was stopped')
  }
  const reason = String(daemon.stopping.reason)
  await store.append([{ actor: 'daemon', subject: 'daemon', kind: 'daemon.stopped', body: { reason } }])
  settle()
  await endsWithin(Promise.allSettled(daemon.streams), LAST_WAIT_MS)
  await app.close()
}

async function sweepLive({ supervisor, log }: DaemonContext): Promise<void> {
  for (const marker of supervisor.liveMarkers()) {
    const { killed, left } = await sweepMarked(sessionMarker(marker), { deadlineMs: LAST_WAIT_MS })
    log.warn({ killed: killed.length, left: left.length }, 'agent did not end by itself')
  }
}

/** Whether the work ended in time. */
async function endsWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  const timer = new AbortController()
  const inTime = await Promise.race([
    work.then(() => true),
    sleep(ms, false, { signal: timer.signal, ref: true }).catch(() => false),
  ])
  timer.abort()
  return inTime
}
