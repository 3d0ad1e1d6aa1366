import { SANDBOX_MODES, type SandboxMode } from '../../../base/sandbox/settings.ts'
import { STANDARD_AGENT_ENV } from '../../agent-env.ts'
import { AGENT_KINDS } from '../../agents/agent-registry.ts'
import { count, oneOf, optionalAmount, optionalPath, type Setting, sections, someOf, text, texts } from '../setting.ts'

/** Strictness of `agents.isolation`, loosest first. */
const ISOLATION = ['marker', 'auto', 'namespace'] as const
const stricterIsolation = (held: Isolation, proposed: Isolation) =>
  ISOLATION.indexOf(proposed) > ISOLATION.indexOf(held) ? proposed : held
type Isolation = (typeof ISOLATION)[number]

const stricterSandbox = (held: SandboxMode, proposed: SandboxMode) =>
  SANDBOX_MODES.indexOf(proposed) > SANDBOX_MODES.indexOf(held) ? proposed : held

const environmentName = /^([A-Za-z_]\w*\*?|\*)( if [A-Za-z_]\w*)?$/

/** How agents are started. */
export const AGENTS_SETTINGS = {
  'agents.env': texts(
    {
      standard: [...STANDARD_AGENT_ENV],
      about: 'Variables of your environment that the agent gets: NAME, PREFIX_*, "NAME if FLAG"',
      project: 'trusted',
    },
    environmentName,
    'names such as "FOO", "FOO_*" or "FOO_* if BAR"',
  ),
  'agents.secret_env': texts(
    {
      standard: [],
      about:
        'Stored secrets that one agent gets as variables, by its name: "claude:ANTHROPIC_API_KEY=anthropic"; no other agent gets them',
      project: 'never',
    },
    /^[a-z][a-z0-9-]{0,39}:[A-Za-z_]\w*=[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    'triples such as "claude:ANTHROPIC_API_KEY=anthropic"',
  ),
  'agents.setting_sources': someOf(['user', 'project', 'local'], {
    standard: ['user', 'project', 'local'],
    about: "Which of Claude Code's own settings apply",
    project: 'tighten',
    // Without `user` a person's own deny rules would not apply, so a repository may only remove its own sources.
    tighten: (held, proposed) => held.filter(each => each === 'user' || proposed.includes(each)),
  }),
  'agents.isolation': oneOf(ISOLATION, {
    standard: 'auto',
    about: "How an agent's processes are kept together: by a PID namespace, a marker, or the best of both that works",
    project: 'tighten',
    tighten: stricterIsolation,
  }),
  'agents.sandbox': oneOf(SANDBOX_MODES, {
    standard: 'auto',
    about: 'Whether agents and the commands of a project run in a sandbox: where one can be made, always, or never',
    project: 'tighten',
    tighten: stricterSandbox,
  }),
  'agents.network': texts(
    {
      standard: [],
      about:
        'Hosts that a sandbox may reach besides the vendor\'s: "name", "*.name", "name:port"; "*" is all, and holds by default for agents that ask about every call',
      project: 'trusted',
    },
    /^(\*|[A-Za-z0-9_*.-]+(:\d+)?)$/,
    'hosts such as "example.com", "*.example.com" or "127.0.0.1:8080"',
  ),
  'agents.sandbox_read': texts({
    standard: [],
    about: 'Paths of your home directory that may be read in a sandbox',
    project: 'never',
  }),
  'agents.sandbox_write': texts({
    standard: [],
    about: 'Paths outside the project that may be written in a sandbox',
    project: 'never',
  }),
  'agents.path': optionalPath({
    standard: undefined,
    about: 'The claude program to use instead of the one that came with pcc',
    project: 'trusted',
  }),
  'agents.append_prompt': text({
    standard: undefined,
    about: "Text that is added to the agent's system prompt, after pcc's own lines",
    project: 'trusted',
  }),
  'agents.custom': sections(
    'command',
    {
      standard: {},
      about:
        'Agents of your own that speak ACP, by name: `[agents.custom.mine]` with `command = "/opt/mine/bin/mine --acp"`',
      project: 'never',
    },
    {
      // Not the name of a kind, because the manifest of that kind does not describe another program.
      name: new RegExp(`^(?!(${AGENT_KINDS.join('|')}|custom)$)[a-z][a-z0-9-]{0,39}$`),
      expects: 'sections such as [agents.custom.mine] (small letters, not the name of a kind) with command = "…" alone',
    },
  ),
  'agents.unattended': texts(
    {
      standard: [],
      about: 'Agents by name that may work alone although they do not ask about every call (`pcc agents list`)',
      project: 'never',
    },
    /^[a-z][a-z0-9-]{0,39}$/,
    'names of agents such as "gemini"',
  ),
} as const satisfies Record<string, Setting>

/** Which agents take over tasks from each other, and when. Without an order, none does. */
export const FAILOVER_SETTINGS = {
  'failover.agents': texts({
    standard: [],
    about: 'Agents in the order in which they take over a task from one another; empty: none does',
    project: 'trusted',
  }),
  'failover.on': someOf(['limit', 'outage'], {
    standard: ['limit', 'outage'],
    about: 'What makes another agent take over a task',
    project: 'trusted',
  }),
  'failover.after_minutes': count(0, {
    standard: 15,
    about:
      'Minutes to wait for an agent: after a longer limit another one takes over, and no agent gets a task back sooner',
    project: 'trusted',
  }),
  'failover.cost_usd': optionalAmount({
    standard: undefined,
    about: 'Dollars that one agent may spend on a session; then the next agent takes over',
    project: 'trusted',
  }),
  'failover.labels': texts(
    {
      standard: [],
      about: 'Tasks of a run that begin with another agent, by label: "docs=gemini"',
      project: 'trusted',
    },
    /^[^=]+=.+$/,
    'pairs such as "docs=gemini"',
  ),
} as const satisfies Record<string, Setting>
