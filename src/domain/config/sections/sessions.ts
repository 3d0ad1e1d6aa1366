import { count, flag, hours, type Setting } from '../setting.ts'
import { both, lower } from './tighten.ts'

/** How sessions start, go on and are kept. */
export const SESSIONS_SETTINGS = {
  'sessions.max_concurrent': count(1, {
    standard: 5,
    about: 'Most sessions at once; the rest wait as `idle` in the order they came',
    project: 'tighten',
    tighten: lower,
    inForce: true,
  }),
  'sessions.auto_resume': flag({
    standard: true,
    about: 'Go on by itself after a limit',
    project: 'tighten',
    tighten: both,
    inForce: true,
  }),
  'sessions.resume_hours': hours({
    standard: undefined,
    about: 'Hours in which work may go on by itself after a limit; unset, at any time',
    project: 'trusted',
    inForce: true,
  }),
  'sessions.retry_seconds': count(0, {
    standard: 5,
    about:
      'Seconds before the first of three tries after a failure that may pass; the second waits 6 times, the third 24 times as long',
    project: 'trusted',
    inForce: true,
  }),
  'sessions.checkpoint_minutes': count(1, {
    standard: 10,
    about: 'Minutes of work after which a checkpoint is written',
    project: 'free',
    inForce: true,
  }),
  'sessions.keep_environment': flag({
    standard: true,
    about: 'Keep what an agent was started with in a private file until its session is over, to go on after a restart',
    project: 'tighten',
    tighten: both,
    inForce: true,
  }),
  'sessions.persist_history': flag({
    standard: true,
    about: 'Keep the history of sessions',
    project: 'trusted',
    inForce: false,
  }),
} as const satisfies Record<string, Setting>
