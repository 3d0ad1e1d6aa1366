import { isObject, parseJson } from '../../../base/json.ts'
import { nameOf } from './file-kind.ts'

/** Files that hold settings of checks beside others. The work may need the others: a package that it added. */
export function isPartlyChecks(path: string): boolean {
  return nameOf(path) === 'package.json' || SECTIONS.some(({ file }) => file.test(nameOf(path))) || isViteSettings(path)
}

/** Whether the checks in such a file are others than before. A missing file has an empty text. */
export function hasOtherChecks(path: string, before: string, now: string): boolean {
  if (nameOf(path) === 'package.json') return hasOtherScripts(readManifest(before), readManifest(now))
  if (isViteSettings(path)) return before !== now && [before, now].some(text => /\btest\s*:|vitest/.test(text))
  const [earlier, later] = [before, now].map(text => splitSections(path, text).checks)
  return earlier !== later
}

/** The text of such a file with its earlier checks; an empty text if there should be no file. */
export function withEarlierChecks(path: string, before: string, now: string): string {
  if (nameOf(path) === 'package.json') return withEarlierScripts(before, now)
  if (isViteSettings(path)) return before
  return [splitSections(path, now).others, splitSections(path, before).checks].filter(Boolean).join('\n')
}

/** Vitest is set up in the file of the program that builds: whether it is, only the text says. */
function isViteSettings(path: string): boolean {
  return /^vite\.config\.\w+$/.test(nameOf(path))
}

/** Parts of a manifest that test runners and linters of JavaScript read. */
const MANIFEST_KEYS = ['jest', 'vitest', 'mocha', 'ava', 'tap', 'nyc', 'c8', 'wireit', 'eslintConfig', 'xo', 'standard']

type Manifest = Record<string, unknown>

/** A text that is no JSON has no scripts that run. */
function readManifest(text: string): Manifest {
  const value = parseJson(text)
  return isObject(value) ? value : {}
}

function scriptsOf({ scripts }: Manifest): Record<string, unknown> {
  return isObject(scripts) ? scripts : {}
}

function hasOtherScripts(before: Manifest, now: Manifest): boolean {
  const [earlier, later] = [scriptsOf(before), scriptsOf(now)]
  return (
    Object.entries(earlier).some(([name, script]) => later[name] !== script) ||
    Object.keys(later).some(name => runsBeside(name, earlier)) ||
    MANIFEST_KEYS.some(key => JSON.stringify(before[key]) !== JSON.stringify(now[key]))
  )
}

/** Whether npm runs an added script before or after one that was there. */
function runsBeside(name: string, before: Record<string, unknown>): boolean {
  const [, other = ''] = /^(?:pre|post)(.+)$/.exec(name) ?? []
  return !Object.hasOwn(before, name) && Object.hasOwn(before, other)
}

function withEarlierScripts(before: string, now: string): string {
  const [earlier, later] = [readManifest(before), readManifest(now)]
  // It is gone, or no JSON any more.
  if (Object.keys(later).length === 0) return before
  const scripts = scriptsOf(earlier)
  const added = Object.entries(scriptsOf(later)).filter(([name]) => !runsBeside(name, scripts))
  const all = { ...later, scripts: { ...Object.fromEntries(added), ...scripts } }
  // A key without a value is not written.
  for (const key of MANIFEST_KEYS) Object.assign(all, { [key]: earlier[key] })
  return JSON.stringify(all, null, 2)
}

/** Sections that runners read, by file. In Rust `[lib]` says whether it is tested, and a profile whether a sum may overflow. */
const SECTIONS = [
  {
    file: /^pyproject\.toml$/,
    checks:
      /^tool\.(pytest|tox|nox|coverage|hatch\.envs|poe|pdm\.scripts|taskipy|ruff|mypy|pyright|basedpyright|flake8|pylint|black)\b/,
  },
  { file: /^setup\.cfg$/, checks: /^(tool:pytest|pytest|coverage|aliases|flake8|mypy|pycodestyle|pylint|nosetests)\b/ },
  { file: /^Cargo\.toml$/, checks: /^(test|bench|lib|lints|workspace\.lints|profile\.(dev|test))\b/ },
]

const HEADER = /^\s*\[{1,2}\s*([^\]]+?)\s*\]{1,2}\s*(?:[#;].*)?$/

/** Splits a text into the sections of checks and the others. */
function splitSections(path: string, text: string): { checks: string; others: string } {
  const pattern = SECTIONS.find(({ file }) => file.test(nameOf(path)))?.checks
  const [checks, others]: [string[], string[]] = [[], []]
  let isInside = false
  for (const line of text.split('\n')) {
    const name = HEADER.exec(line)?.[1]?.replaceAll(/["'\s]/g, '')
    if (name !== undefined) isInside = pattern?.test(name) ?? false
    ;(isInside ? checks : others).push(line)
  }
  return { checks: checks.join('\n').trim(), others: others.join('\n').trim() }
}
