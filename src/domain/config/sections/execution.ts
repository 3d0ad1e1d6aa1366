import { MODEL_STRATEGIES } from '../../option-values.ts'
import { bothTrue, count, flag, lowerLimit, lowerOf, oneOf, type Setting, text, word } from '../setting.ts'

/** How `pcc run` works through tasks, and with which models. Settings that cost more or run another program need trust. */
export const EXECUTION_SETTINGS = {
  'execution.max_retries': count(0, {
    standard: 3,
    about: 'Retries before a task of a run counts as failed',
    project: 'tighten',
    tighten: lowerOf,
  }),
  'execution.verify': flag({
    standard: true,
    about: 'Run the gates on work that an agent calls done, before its task is done; false leaves all work unverified',
    project: 'tighten',
    tighten: (held, proposed) => held || proposed,
  }),
  'execution.limit': count(0, {
    standard: 0,
    about: 'Most attempts of one run; 0 for no limit. Also `PCC_LIMIT`',
    project: 'tighten',
    tighten: lowerLimit,
    variable: 'PCC_LIMIT',
  }),
  'execution.parallel': count(1, {
    standard: 1,
    about: 'Tasks of one run at once, each in a worktree of its own. Also `PCC_PARALLEL`',
    project: 'tighten',
    tighten: lowerOf,
    variable: 'PCC_PARALLEL',
  }),
  'execution.model': text({
    standard: undefined,
    about: 'The model of every attempt of a run, which makes the strategy "fixed". Also `PCC_MODEL`',
    project: 'trusted',
    variable: 'PCC_MODEL',
  }),
  'execution.model_strategy': oneOf(MODEL_STRATEGIES, {
    standard: 'cost-optimized',
    about: 'How a run picks the model of each attempt. Also `PCC_MODEL_STRATEGY`',
    project: 'trusted',
    variable: 'PCC_MODEL_STRATEGY',
  }),
  'execution.warm': flag({
    standard: true,
    about:
      'Start the agent of the next task while the current one works, if its process cannot be used again, which takes about 160 MB',
    project: 'tighten',
    tighten: bothTrue,
  }),
  'execution.warm_cores': count(0, {
    standard: 1,
    about: 'Start the next agent early only while so many processor cores have nothing to do; 0 starts it always',
    project: 'tighten',
    tighten: (held, proposed) => Math.max(held, proposed),
  }),
  'execution.tasks_per_process': count(1, {
    standard: 20,
    about:
      'Most tasks that one process of the agent does one after the other, each in a fresh conversation; 1 starts a process for every task',
    project: 'tighten',
    tighten: lowerOf,
  }),
  'agent.command': word({
    standard: 'claude',
    about:
      'The agent that does the work: a kind (`pcc agents list`), one of `agents.custom`, or a command line. Also `PCC_AGENT`',
    project: 'trusted',
    variable: 'PCC_AGENT',
  }),
  'models.light': word({
    standard: 'haiku',
    about: 'What strategies and agents mean by "haiku" or "light"',
    project: 'trusted',
  }),
  'models.standard': word({
    standard: 'sonnet',
    about: 'What strategies and agents mean by "sonnet" or "standard"',
    project: 'trusted',
  }),
  'models.strong': word({
    standard: 'opus',
    about: 'What strategies and agents mean by "opus" or "strong"',
    project: 'trusted',
  }),
} as const satisfies Record<string, Setting>

const CLOCK = /^([01]?\d|2[0-3]):[0-5]\d$/

const clock = <T extends string | undefined>(given: { standard: T; about: string }): Setting<T> =>
  ({
    ...text({ ...given, project: 'never' }),
    accepts: value => typeof value === 'string' && CLOCK.test(value),
    expects: 'a time such as "07:00"',
  }) as Setting<T>

/** The period and time of the nightly report. */
export const REPORT_SETTINGS = {
  'report.since': clock<string>({
    standard: '22:00',
    about: 'Time from which `pcc report` reports, unless `--since` names another',
  }),
  'report.at': clock<string | undefined>({
    standard: undefined,
    about: 'Time at which the report is sent each day as a notification; unset: never',
  }),
} as const satisfies Record<string, Setting>

/** Settings that keep the daemon alive and its disk from filling up. They belong to the daemon, never to a project. */
export const UPKEEP_SETTINGS = {
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
} as const satisfies Record<string, Setting>

const SYSTEM_LOG = /^(journald|unix:\/\/\/.+|(udp|tcp):\/\/(\[[0-9a-fA-F:]+\]|[^:/@?#[\]]+):\d{1,5})$/
