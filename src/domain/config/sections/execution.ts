import { MODEL_STRATEGIES } from '../../runs/model-strategy.ts'
import { count, flag, oneOf, type Setting, text, word } from '../setting.ts'

/** Most attempts, where 0 is no bound at all. */
const fewerAttempts = (held: number, proposed: number) =>
  held === 0 ? proposed : proposed === 0 ? held : Math.min(held, proposed)

/** How `pcc run` works through tasks, and with which models. What costs more or runs another program waits for trust. */
export const EXECUTION_SETTINGS = {
  'execution.max_retries': count(0, {
    standard: 3,
    about: 'Tries after the first before a task of a run counts as failed',
    project: 'tighten',
    tighten: (held, proposed) => Math.min(held, proposed),
    inForce: true,
  }),
  'execution.verify': flag({
    standard: true,
    about:
      'Check what an agent calls done before the task is, as far as there are gates; false leaves all of it unverified',
    project: 'tighten',
    tighten: (held, proposed) => held || proposed,
    inForce: true,
  }),
  'execution.limit': count(0, {
    standard: 0,
    about: 'Most attempts of one run; 0 for no bound. Also `PCC_LIMIT`',
    project: 'tighten',
    tighten: fewerAttempts,
    inForce: true,
    variable: 'PCC_LIMIT',
  }),
  'execution.parallel': count(1, {
    standard: 1,
    about: 'Tasks of one run at once, each in a worktree of its own. Also `PCC_PARALLEL`',
    project: 'tighten',
    tighten: (held, proposed) => Math.min(held, proposed),
    inForce: true,
    variable: 'PCC_PARALLEL',
  }),
  'execution.model': text({
    standard: undefined,
    about: 'The model of every attempt of a run, which makes the strategy "fixed". Also `PCC_MODEL`',
    project: 'trusted',
    inForce: true,
    variable: 'PCC_MODEL',
  }),
  'execution.model_strategy': oneOf(MODEL_STRATEGIES, {
    standard: 'cost-optimized',
    about: 'How a run picks the model of each attempt. Also `PCC_MODEL_STRATEGY`',
    project: 'trusted',
    inForce: true,
    variable: 'PCC_MODEL_STRATEGY',
  }),
  'execution.warm': flag({
    standard: true,
    about: 'Start the agent of the next task while the current one works, which takes about 160 MB',
    project: 'tighten',
    tighten: (held, proposed) => held && proposed,
    inForce: true,
  }),
  'agent.command': word({
    standard: 'claude',
    about:
      'The agent that does the work: a kind (`pcc agents list`), one of `agents.custom`, or a command line. Also `PCC_AGENT`',
    project: 'trusted',
    inForce: true,
    variable: 'PCC_AGENT',
  }),
  'models.light': word({
    standard: 'haiku',
    about: 'What strategies and agents mean by "haiku" or "light"',
    project: 'trusted',
    inForce: true,
  }),
  'models.standard': word({
    standard: 'sonnet',
    about: 'What strategies and agents mean by "sonnet" or "standard"',
    project: 'trusted',
    inForce: true,
  }),
  'models.strong': word({
    standard: 'opus',
    about: 'What strategies and agents mean by "opus" or "strong"',
    project: 'trusted',
    inForce: true,
  }),
} as const satisfies Record<string, Setting>
