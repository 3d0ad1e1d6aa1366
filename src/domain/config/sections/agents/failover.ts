import { count, optionalAmount, type Setting, someOf, texts } from '../../setting.ts'

/** Which agents take a task over from one another, and when. Without an order nobody does. */
export const FAILOVER_SETTINGS = {
  'failover.agents': texts({
    standard: [],
    about: 'Agents in the order in which they take a task over from one another; empty, nobody does',
    project: 'trusted',
    inForce: true,
  }),
  'failover.on': someOf(['limit', 'outage'], {
    standard: ['limit', 'outage'],
    about: 'What a task is handed over for',
    project: 'trusted',
    inForce: true,
  }),
  'failover.after_minutes': count(0, {
    standard: 15,
    about:
      'Minutes for which an agent is waited for; a longer limit hands its task over. Nobody returns sooner, either',
    project: 'trusted',
    inForce: true,
  }),
  'failover.cost_usd': optionalAmount({
    standard: undefined,
    about: 'Dollars that one agent may spend on a session; then the next one goes on',
    project: 'trusted',
    inForce: true,
  }),
  'failover.labels': texts(
    {
      standard: [],
      about: 'Tasks of a run that begin with another agent, by label: "docs=gemini"',
      project: 'trusted',
      inForce: true,
    },
    /^[^=]+=.+$/,
    'pairs such as "docs=gemini"',
  ),
} as const satisfies Record<string, Setting>
