import { count, flag, type Setting } from '../setting.ts'

/** What keeps the daemon alive and its disk from filling up. They belong to the daemon, never to a project. */
export const UPKEEP_SETTINGS = {
  'daemon.parent': flag({
    standard: true,
    about: 'Run the background process under a small parent that starts it again when it dies',
    project: 'never',
    inForce: true,
  }),
  'daemon.watchdog_seconds': count(5, {
    standard: 60,
    about: 'Seconds for which the background process may stand still before it is ended and started again',
    project: 'never',
    inForce: true,
  }),
  'data.min_free_mb': count(0, {
    standard: 200,
    about: 'Free megabytes below which nothing new starts and running sessions pause until there is space again',
    project: 'never',
    inForce: true,
  }),
  'data.event_retention_days': count(1, {
    standard: 90,
    about: 'Days for which the events of a session that is over are kept',
    project: 'never',
    inForce: true,
  }),
  'data.max_events_mb': count(1, {
    standard: 2_000,
    about: 'Size of the database from which the oldest sessions that are over lose their events before that time',
    project: 'never',
    inForce: true,
  }),
  'data.max_checkpoints_mb': count(1, {
    standard: 500,
    about: 'Size of all checkpoints from which the oldest are removed before their time',
    project: 'never',
    inForce: true,
  }),
  'logs.keep_days': count(1, {
    standard: 30,
    about: 'Days for which rotated log files and diagnostics are kept',
    project: 'never',
    inForce: true,
  }),
} as const satisfies Record<string, Setting>
