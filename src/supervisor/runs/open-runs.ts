import { notesLock } from '../../knowledge/notes/read-notes.ts'
import type { SessionRow } from '../../store/tables.ts'
import { briefFor } from '../brief/brief-for.ts'
import { featureSections } from '../features/feature-section.ts'
import type { Floor } from '../floor.ts'
import { pauseWaiting, stopWaiting } from '../settling/stop-waiting.ts'
import type { PrepareParts } from '../start/preparation.ts'
import { isOver } from '../waits/kept-environments.ts'
import type { BeginParts } from './begin/begin-next.ts'
import { HeldBack } from './begin/held-back.ts'
import { standingOf } from './facts/standing.ts'
import { runSettings } from './run-settings.ts'
import { Runs } from './runs.ts'

/** What a run does to its sessions. */
export interface Steering {
  start: BeginParts['start']
  stop(id: string, reason: string): Promise<void>
  pause(id: string): Promise<void>
  resume(row: SessionRow): Promise<unknown>
  landAgain(): Promise<void>
}

/** Runs over the sessions of a floor: what a run asks of a session holds for one without a process as well. */
export function openRuns(
  floor: Floor,
  options: PrepareParts & { agentEnv: Record<string, string> },
  steering: Steering,
): Runs {
  const { kept, log, warm: warmth } = floor
  const { store, tasks, clock } = floor.parts
  const waiting = { store, now: () => clock.now() }
  return new Runs({
    ...{ store, tasks, clock, log, kept, warmth, agentEnv: options.agentEnv, notesLock: notesLock(options.places) },
    settingsOf: run => runSettings(run, options),
    start: steering.start,
    landAgain: steering.landAgain,
    ground: floor.ground,
    heldBack: new HeldBack(clock),
    brief: async (task, { attempts, run, place }) => {
      const more = await featureSections(task)
      const { text, skipped } = await briefFor(task, { store, attempts, run, place, more })
      for (const { file, problem } of skipped) log.warn({ run, task: task.id, file, problem }, 'a note was left out')
      return text
    },
    stop: async (id, reason) => {
      await steering.stop(id, reason)
      if (await isBack(id, stopWaiting, waiting)) await steering.stop(id, reason)
      kept.forget(id)
    },
    pause: async id => {
      await steering.pause(id)
      if (await isBack(id, pauseWaiting, waiting)) await steering.pause(id)
    },
    pauseWaiting: async id => {
      await isBack(id, pauseWaiting, waiting)
    },
    resume: async id => {
      const row = await store.sessions.get(id)
      // What is over is closed by the next look, and its task given back: it must not come back beside that.
      if (row?.state === 'ended' && standingOf(row) !== 'over') await steering.resume(row)
    },
  })
}

/**
 * One that has no process waits for a time or for a person: it is told so in its row. One that is over stays so. True where it
 * has a process again: an answer, or its time, came in between.
 */
async function isBack(
  id: string,
  end: typeof stopWaiting,
  { store, now }: { store: Floor['parts']['store']; now: () => number },
): Promise<boolean> {
  const row = await store.sessions.get(id)
  if (row?.state !== 'ended') return row !== undefined
  const isLeft = row.options.host === 'tmux' && row.ended_as === 'paused'
  const waits = !isOver(row.ended_as) && (end === stopWaiting || row.resumes_at !== null || isLeft)
  return waits && !(await end(row, store, now()))
}
