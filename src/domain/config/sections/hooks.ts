import { HOOK_GATES } from '../../option-values.ts'
import {
  bothTrue,
  count,
  flag,
  intersection,
  laterOf,
  lowerOf,
  oneOf,
  onlyTo,
  type Setting,
  texts,
} from '../setting.ts'

const TIERS = ['two', 'three'] as const

/** What the hooks do in agents that a person started (docs/hooks.md). */
export const HOOKS_SETTINGS = {
  'hooks.high': oneOf(['deny', 'ask'], {
    standard: 'deny',
    about:
      "A HIGH risk call in an agent that you started: refused with a safer way, or asked in the agent's own dialog",
    project: 'tighten',
    tighten: onlyTo<'deny' | 'ask'>('deny'),
  }),
  'hooks.gates': oneOf(HOOK_GATES, {
    standard: 'quick',
    about: 'The profile of the gates that run when an agent that you started says that it is done',
    project: 'tighten',
    tighten: laterOf(HOOK_GATES),
  }),
  'hooks.stop_blocks': count(0, {
    standard: 3,
    about:
      'How often in a row a failed gate sends an agent back to work in one of its sessions; never twice for the same files',
    // A lower number checks less and a higher one costs more, so that neither is stricter.
    project: 'trusted',
  }),
  'hooks.context': flag({
    standard: true,
    about: 'Tell agents that you started what waits for you in the project, and which of its notes fit the prompt',
    project: 'tighten',
    tighten: bothTrue,
  }),
  'hooks.delegation.tiers': oneOf(TIERS, {
    standard: 'two',
    about: 'Who must delegate: a conductor (AGENT_ROLE), or with three tiers also a section leader',
    project: 'tighten',
    tighten: laterOf(TIERS),
  }),
  'hooks.delegation.warn': count(1, {
    standard: 3,
    about: 'The call since the last delegation from which an agent that must delegate is warned',
    project: 'tighten',
    tighten: lowerOf,
  }),
  'hooks.delegation.block': count(1, {
    standard: 6,
    about: 'The call since the last delegation from which an agent that must delegate is refused',
    project: 'tighten',
    tighten: lowerOf,
  }),
  'hooks.delegation.allow': texts(
    {
      standard: ['.claude/', '.codex/', '.gemini/', '.github/hooks/'],
      about: 'Files that an agent that must delegate may edit itself: paths within the project, folders with a `/`',
      project: 'tighten',
      tighten: intersection,
    },
    /^(?!\/)(?!.*(^|\/)\.\.?(\/|$))./s,
    'paths within the project',
  ),
} as const satisfies Record<string, Setting>
