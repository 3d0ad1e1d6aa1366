import { GATE_PROFILES, type GateProfile } from '../../../workspace/gate-profile.ts'
import { count, oneOf, type Setting, text, texts, word } from '../../setting.ts'
import { lower } from '../tighten.ts'

/** The one that stands further behind in the list checks more. */
const further =
  <Word extends string>(words: readonly Word[]) =>
  (held: Word, proposed: Word): Word =>
    words.indexOf(proposed) > words.indexOf(held) ? proposed : held

const KNOWN_FAILURES = ['allow', 'block'] as const
const VERIFIER = ['off', 'auto', 'on'] as const

const command = (what: string): Setting<string | undefined> =>
  text({ standard: undefined, about: `Command that ${what}`, project: 'trusted', inForce: true })

/** What is checked before a task is done. Commands run code of the project: they count after `pcc trust`. */
export const GATE_SETTINGS = {
  'gates.profile': oneOf<GateProfile>(GATE_PROFILES, {
    standard: 'standard',
    about: 'How much is checked before a task is done',
    project: 'tighten',
    tighten: further(GATE_PROFILES),
    inForce: true,
  }),
  'gates.build': command('builds the project; run by `sh`, in the project'),
  'gates.typecheck': command('checks types'),
  'gates.lint': command('looks for mistakes of style, without mending them'),
  'gates.test': command('runs the tests'),
  'gates.timeout_seconds': count(1, {
    standard: 900,
    about: 'Longest time for one gate command',
    project: 'tighten',
    tighten: lower,
    inForce: true,
  }),
  'gates.rounds': count(0, {
    standard: 3,
    about: 'How often an agent gets a failed check back in the same conversation',
    project: 'tighten',
    tighten: lower,
    inForce: false,
  }),
  'gates.known_failures': oneOf(KNOWN_FAILURES, {
    standard: 'block',
    about: 'Whether tests that failed before the work began keep it from being done, or only new failures do',
    project: 'tighten',
    tighten: further(KNOWN_FAILURES),
    inForce: true,
  }),
  'gates.env': texts(
    {
      standard: [],
      about: 'Variables that gate commands may see beside the usual few; keys of model vendors never',
      project: 'trusted',
      inForce: true,
    },
    /^[A-Za-z_][A-Za-z0-9_]*$/,
    'names of variables',
  ),
  'gates.verifier': oneOf(VERIFIER, {
    standard: 'auto',
    about: 'Whether a second, read-only agent looks at the work: as the profile says, always, or never',
    project: 'tighten',
    tighten: further(VERIFIER),
    inForce: true,
  }),
  'gates.second_opinion': word({
    standard: 'off',
    about:
      'Another agent that reads the work too and must not find it wanting: off, or an agent as for `agent.command`',
    project: 'trusted',
    inForce: true,
  }),
} as const satisfies Record<string, Setting>
