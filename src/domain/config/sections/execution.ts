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
