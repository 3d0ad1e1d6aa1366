import type { Session } from '../../domain/session.ts'
import { isSlot } from '../../domain/worktree.ts'
import type { LiveSession, LiveSessionEnding } from './context.ts'

/** What decides whether the process of a session that is over serves the next one. */
export interface ReuseFacts {
  /** Whether the driver can begin a fresh conversation in a process that has served another session. */
  canReuse: boolean
  /** Whether the session belongs to a run: only a run has a next task. */
  isInRun: boolean
  /** Whether the folder of the work stays when the task is over: the project itself, or a slot. */
  staysInPlace: boolean
  endedAs: LiveSessionEnding['as']
  /** Somebody or something wanted the session to stop: a person, a limit, a guard, the end of the daemon. */
  isDisturbed: boolean
  /** The session had to be started again after a failure or an accident, or goes on with an earlier conversation. */
  isSecondLife: boolean
  /** Sessions that the process has served, this one included. */
  served: number
  /** `execution.tasks_per_process`. */
  most: number
  /** Other sessions wait for a slot, or memory is short. */
  isTight: boolean
}

/** Why the next session gets a fresh process; undefined if it may get this one. What the driver finds is asked after that. */
export function whyFresh(facts: ReuseFacts): string | undefined {
  if (!facts.canReuse) return 'the agent cannot begin again in the same process'
  if (!facts.isInRun) return 'nobody waits for a next task'
  if (!facts.staysInPlace) return 'the folder of the work goes with its task'
  if (facts.endedAs !== 'completed') return 'the task did not end well'
  if (facts.isDisturbed) return 'the session was asked to stop'
  if (facts.isSecondLife) return 'the session was started more than once'
  if (facts.served >= facts.most) return `it has served ${facts.served}, and ${facts.most} is the most`
  return facts.isTight ? 'others need the room' : undefined
}

/** The facts about a session whose agent is still there. Without an ending it is assumed that all goes well. */
export function reuseFacts(
  { row, settings, control }: LiveSession,
  { session, ending, isTight }: { session: Session; ending?: LiveSessionEnding | undefined; isTight: boolean },
): ReuseFacts {
  const { stopping, cutOff, pausing, tripped } = control
  return {
    canReuse: session.release !== undefined,
    isInRun: row.options.run !== undefined,
    staysInPlace: row.options.place === undefined || isSlot(row.options.place),
    endedAs: ending?.as ?? 'completed',
    isDisturbed: stopping !== undefined || cutOff || pausing !== undefined || tripped !== undefined,
    isSecondLife: row.retries > 0 || row.recoveries > 0 || settings.open.resume !== undefined,
    served: (session.served ?? 0) + 1,
    most: settings.tasksPerProcess,
    isTight,
  }
}
