import type { QuestionItem } from '../../../domain/session.ts'
import { graveWords } from '../grave/grave.ts'
import type { Thought } from './thought.ts'

/** Where to save something, from the directories that the project has; only for what has a usual place, and never outside. */
export function byPlace(item: QuestionItem, entries: readonly string[]): Thought | undefined {
  const text = `${item.header} ${item.question}`
  if (!ASKS_WHERE.test(item.question) || graveWords(text) !== undefined || item.multiSelect) return undefined
  const names = new Set(entries.map(entry => entry.replace(/\/+$/, '')))
  const kind = KINDS.find(({ about }) => about.test(text))
  const usual = kind?.places.filter(place => names.has(place)) ?? []
  const answer = item.options.length === 0 ? folder(usual[0]) : amongOptions(item.options, names, usual)
  if (answer === undefined) return undefined
  return { answer, confidence: 0.7, reasoning: `the project keeps such things in ${usual[0] ?? answer}` }
}

const ASKS_WHERE =
  /\bwhere (?:should|shall|do|would|can|to|does|will|in)\b|\b(?:which|what) (?:file|directory|folder|path|location|place|dir)\b|\bin(?:to)? which\b/i

const KINDS: readonly { about: RegExp; places: readonly string[] }[] = [
  { about: /\b(tests?|specs?|test cases?|fixtures?|e2e)\b/i, places: ['test', 'tests', '__tests__', 'spec', 'specs'] },
  { about: /\b(docs?|documentation|guides?|adr|manual|tutorial)\b/i, places: ['docs', 'doc', 'documentation'] },
  { about: /\b(examples?|samples?|demos?)\b/i, places: ['examples', 'example', 'samples'] },
  { about: /\b(scripts?|tooling)\b/i, places: ['scripts', 'script', 'bin', 'tools'] },
  { about: /\b(components?|views?|widgets?)\b/i, places: ['components', 'src', 'app'] },
  { about: /\b(images?|icons?|assets?|fonts?|static)\b/i, places: ['assets', 'public', 'static'] },
  { about: /\b(reports?|output|results?)\b/i, places: ['reports', 'report', 'output', 'out', 'docs'] },
  { about: /\b(benchmarks?)\b/i, places: ['bench', 'benchmarks'] },
  { about: /\b(migrations?)\b/i, places: ['migrations', 'db'] },
  {
    about:
      /\b(code|modules?|functions?|class(?:es)?|types?|helpers?|implementation|files?|routes?|hooks?|services?|handlers?|logic|parser|api|endpoints?|models?|config\w*)\b/i,
    places: ['src', 'lib', 'app', 'packages', 'source'],
  },
]

function folder(name: string | undefined): string | undefined {
  return name === undefined ? undefined : `${name}/`
}

/** The one option inside a directory that is there: of the usual ones the first, else the only one of all. */
function amongOptions(
  options: QuestionItem['options'],
  names: ReadonlySet<string>,
  usual: readonly string[],
): string | undefined {
  const placed = options.flatMap(({ label, description }) => {
    const path = pathIn(label) ?? pathIn(description)
    const top = path && topOf(path)
    return top && names.has(top) && graveWords(`${label} ${description}`) === undefined ? [{ label, top }] : []
  })
  for (const place of usual) {
    const fitting = placed.filter(({ top }) => top === place)
    if (fitting.length === 1) return fitting[0]?.label
    if (fitting.length > 1) return undefined
  }
  return placed.length === 1 ? placed[0]?.label : undefined
}

/** A path inside the project: not absolute, not of the home directory, not upwards, and not hidden. */
function pathIn(text: string): string | undefined {
  const path = /(?:^|[\s`'"(])(\.\/)?((?:[\w@-][\w.@-]*\/)+[\w.@*-]*|[\w@-]+$)/.exec(text.trim())?.[2]
  return path === undefined || /(^|\/)\.\.?(\/|$)/.test(text) || /[~\\]|(^|\s)\//.test(text) ? undefined : path
}

function topOf(path: string): string | undefined {
  return path.split('/')[0]
}
