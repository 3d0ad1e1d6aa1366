import { count, flag, oneOf, path, type Setting, text, texts } from '../setting.ts'

const SYSTEM_LOG = /^(journald|unix:\/\/\/.+|(udp|tcp):\/\/(\[[0-9a-fA-F:]+\]|[^:/@?#[\]]+):\d{1,5})$/

const CLOCK = /^([01]?\d|2[0-3]):[0-5]\d$/

const clock = <T extends string | undefined>(given: { standard: T; about: string }): Setting<T, 'never'> =>
  ({
    ...text({ ...given, project: 'never' }),
    accepts: value => typeof value === 'string' && CLOCK.test(value),
    expects: 'a time such as "07:00"',
  }) as Setting<T, 'never'>

/** Settings that the daemon reads for itself: where it keeps things and for how long, its logs and its report. They are never a project's. */
export const DAEMON_SETTINGS = {
  'data.directory': path({
    standard: '~/.perpetualcc/data',
    about: 'Directory of the data; each directory has a daemon of its own',
    project: 'never',
  }),
  'data.checkpoint_retention_days': count(1, {
    standard: 30,
    about: 'Days a checkpoint is kept',
    project: 'never',
  }),
  'data.episode_retention_days': count(1, {
    standard: 90,
    about: 'Days an episode is kept',
    project: 'never',
  }),
  'data.min_free_mb': count(0, {
    standard: 200,
    about: 'Free space in MB below which nothing new starts and running sessions pause until there is space again',
    project: 'never',
  }),
  'data.event_retention_days': count(1, {
    standard: 90,
    about: 'Days for which the events of a session that is over are kept',
    project: 'never',
  }),
  'data.max_events_mb': count(1, {
    standard: 2_000,
    about: 'Size of the database from which the events of the oldest finished sessions are removed before that time',
    project: 'never',
  }),
  'data.max_checkpoints_mb': count(1, {
    standard: 500,
    about: 'Size of all checkpoints from which the oldest are removed before their time',
    project: 'never',
  }),
  'logs.level': oneOf(['debug', 'info', 'warn', 'error'], {
    standard: 'info',
    about: "Lowest level that the daemon's log contains",
    project: 'never',
  }),
  'logs.max_bytes': count(10_000, {
    standard: 10_000_000,
    about: 'Size at which the log is rotated',
    project: 'never',
  }),
  'logs.keep': count(1, {
    standard: 5,
    about: 'Rotated log files that are kept',
    project: 'never',
  }),
  'logs.keep_days': count(1, {
    standard: 30,
    about: 'Days for which rotated log files and diagnostics are kept',
    project: 'never',
  }),
  'logs.syslog': {
    ...text({
      standard: undefined,
      about: 'Also send every line of the logs of the daemon, of requests and of agents there',
      project: 'never',
    }),
    accepts: value => typeof value === 'string' && SYSTEM_LOG.test(value),
    expects: '"journald", "unix:///dev/log", or an address such as "udp://127.0.0.1:514" or "tcp://127.0.0.1:601"',
  } satisfies Setting<string | undefined>,
  'report.since': clock<string>({
    standard: '22:00',
    about: 'Time from which `pcc report` reports, unless `--since` names another',
  }),
  'report.at': clock<string | undefined>({
    standard: undefined,
    about: 'Time at which the report is sent each day as a notification; unset: never',
  }),
  'daemon.parent': flag({
    standard: true,
    about: 'Run the background process under a small parent that starts it again when it dies',
    project: 'never',
  }),
  'daemon.watchdog_seconds': count(5, {
    standard: 60,
    about: 'Seconds without a reaction after which the background process is ended and started again',
    project: 'never',
  }),
  'secrets.store': oneOf(['auto', 'keyring', 'file'], {
    standard: 'auto',
    about:
      'Where `pcc secrets set` puts a value: into the keyring of the system, into an encrypted file, or into the first of both that works',
    project: 'never',
  }),
  'secrets.key': oneOf(['file', 'passphrase'], {
    standard: 'file',
    about: 'What opens a new encrypted file: a key file beside it, or a passphrase that is in no file',
    project: 'never',
  }),
  'secrets.command': texts({
    standard: [],
    about:
      'A program that prints a secret which is not stored here, word by word: ["op", "read", "op://Private/{name}/key"]; no shell runs it',
    project: 'never',
  }),
} as const satisfies Record<string, Setting>
