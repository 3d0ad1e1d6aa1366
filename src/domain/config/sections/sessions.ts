import {
  bothTrue,
  count,
  flag,
  hours,
  intersection,
  lowerOf,
  oneOf,
  onlyTo,
  type Setting,
  texts,
  unionOf,
} from '../setting.ts'

/** How sessions start, resume and are stored. */
export const SESSIONS_SETTINGS = {
  'sessions.max_concurrent': count(1, {
    standard: 5,
    about: 'Most sessions at once; the rest wait as `idle`, in the order in which they came',
    project: 'tighten',
    tighten: lowerOf,
  }),
  'sessions.auto_resume': flag({
    standard: true,
    about: 'Go on by itself after a limit',
    project: 'tighten',
    tighten: bothTrue,
  }),
  'sessions.resume_hours': hours({
    standard: undefined,
    about: 'Hours in which work may go on by itself after a limit; unset: at any time',
    project: 'trusted',
  }),
  'sessions.retry_seconds': count(0, {
    standard: 5,
    about:
      'Seconds before the first of three retries after a transient failure; the second waits 6 times, the third 24 times as long',
    project: 'trusted',
  }),
  'sessions.checkpoint_minutes': count(1, {
    standard: 10,
    about: 'Minutes of work after which a checkpoint is written',
    project: 'free',
  }),
  'sessions.keep_environment': flag({
    standard: true,
    about: "Keep an agent's environment in a private file until its session is over, to resume it after a restart",
    project: 'tighten',
    tighten: bothTrue,
  }),
} as const satisfies Record<string, Setting>

/** What is allowed without a person. */
export const PERMISSIONS_SETTINGS = {
  'permissions.auto_approve_low_risk': flag({
    standard: true,
    about: 'Allow LOW risk requests without a person',
    project: 'tighten',
    tighten: bothTrue,
    also: ['auto_approve'],
  }),
  'permissions.safe_directories': texts({
    standard: ['src/', 'tests/', 'lib/', 'app/', 'packages/'],
    about: 'Directories in which a write is LOW risk',
    project: 'tighten',
    tighten: intersection,
  }),
  'permissions.blocked_commands': texts({
    standard: ['rm -rf /', 'sudo', 'curl | sh'],
    about: 'Commands that are always refused',
    project: 'tighten',
    tighten: unionOf,
  }),
  'permissions.unattended_high': oneOf(['deny', 'wait'], {
    standard: 'deny',
    about: 'HIGH risk with nobody there: refused at once with a safer way, or the session waits for a person',
    project: 'tighten',
    tighten: onlyTo<'deny' | 'wait'>('deny'),
  }),
} as const satisfies Record<string, Setting>
