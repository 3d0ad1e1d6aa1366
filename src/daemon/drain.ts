import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { sessionMarker } from '../base/process/marker.ts'
import { sweepMarked } from '../base/process/sweep.ts'
import type { World } from './world.ts'

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
export async function drain(world: World, { app, settle }: Draining): Promise<void> {
  const { log, store, supervisor } = world
  log.info({ reason: world.stopping.reason, live: supervisor.liveCount }, 'daemon stopping')
  const closed = supervisor.close('the daemon was stopped', { goOn: world.cutsOff })
  if (!(await within(closed, PATIENCE_MS))) {
    await sweepLive(world)
    if (!(await within(closed, LAST_WAIT_MS))) await supervisor.abandon('the daemon was stopped')
  }
  const reason = String(world.stopping.reason)
  await store.append([{ actor: 'daemon', subject: 'daemon', kind: 'daemon.stopped', body: { reason } }])
  settle()
  await within(Promise.allSettled(world.streams), LAST_WAIT_MS)
  await app.close()
}

async function sweepLive({ supervisor, log }: World): Promise<void> {
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
