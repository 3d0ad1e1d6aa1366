import { readdir } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { readTextIfAny } from '../../base/files.ts'
import type { TrustFinding } from './findings.ts'
import { findCheckout, type SurfaceFile } from './surface.ts'

// Programs that git starts by itself because the repository's own settings name them. A clone brings none of them, but an archive
// with a `.git` in it does, and so does a script that was run once.

/** The settings of a repository that may name programs, and its hooks. */
export async function findGitFiles(directory: string): Promise<SurfaceFile[]> {
  const checkout = await findCheckout(directory)
  if (!checkout) return []
  const folder = join(checkout.main, '.git')
  const config = join(folder, 'config')
  const settings = readGitConfig((await readTextIfAny(config).catch(() => undefined)) ?? '')
  const path = settings.findLast(([name]) => name === 'core.hookspath')?.[1]
  const hooks = path === undefined ? join(folder, 'hooks') : resolve(checkout.top, path)
  const scripts = (await Promise.all(hookFolders(hooks).map(listFiles))).flat().filter(path => isHook(path))
  return [config, ...scripts].map(file => ({ path: file, kind: 'git', within: checkout.main }))
}

const HOOK =
  /^(applypatch-msg|pre-applypatch|post-applypatch|pre-commit|pre-merge-commit|prepare-commit-msg|commit-msg|post-commit|pre-rebase|post-checkout|post-merge|pre-push|pre-auto-gc|post-rewrite|reference-transaction|post-index-change|fsmonitor-watchman)$/

/** husky keeps scripts in `.husky/_` that run those of the same name in `.husky`; git ignores them, so that no diff shows a change. */
function hookFolders(hooks: string): string[] {
  return basename(hooks) === '_' ? [hooks, dirname(hooks)] : [hooks, join(hooks, '_')]
}

/** The scripts of husky read others, which lie beside them. */
function isHook(path: string): boolean {
  return HOOK.test(basename(path)) || /\/_\/(h|husky\.sh)$/.test(path)
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.filter(entry => entry.isFile() || entry.isSymbolicLink()).map(({ name }) => join(folder, name))
}

/** What a file of git would run. */
export function findingsInGit(path: string, text: string): TrustFinding[] {
  if (basename(path) !== 'config') {
    const isPlain = isEveryLine(text, LFS_LINE) || (/\/_\/[^/]+$/.test(path) && isEveryLine(text, HUSKY_LINE))
    return isPlain ? [] : [{ kind: 'core.hooksPath', text: `hook ${basename(path)}` }]
  }
  return readGitConfig(text)
    .filter(([name, value]) => RUNS.test(name) && !isHarmless(name, value))
    .map(([name, value]) => ({ kind: name.startsWith('include') ? 'include' : name, text: `${name} = ${value}` }))
}

/** A comment that names no program but a shell. */
const COMMENT = String.raw`#(?!!).*|#!\/(?:usr\/)?bin\/(?:env )?(?:ba|da)?sh`
/** Words in quotes, in which nothing runs. */
const QUOTED = String.raw`"(?:[^"$\x60\\]|\\[^"$\x60])*"`
/** The hooks that Git LFS installs. */
const LFS_LINE = new RegExp(
  String.raw`^\s*(?:${COMMENT}|command -v git-lfs >\/dev\/null(?: 2>&1)? \|\| (?:exit 2|\{ (?:echo|printf) >&2(?: ${QUOTED})+; exit 2; \})|git lfs [\w-]+ "\$@")?$`,
)
/** What husky's own scripts do: read the one that finds the hook of the project, which is listed itself. */
const HUSKY_LINE = new RegExp(String.raw`^(?:${COMMENT}|\. "(?:\$\(dirname (?:-- )?"\$0"\)|\$\{0%\/\*\})\/h")?$`)

function isEveryLine(text: string, known: RegExp): boolean {
  return text.split('\n').every(line => known.test(line))
}

/** Also settings by which git talks to another server than the one that is named, with the person's login, or writes a file of theirs. */
const RUNS =
  /^(http\..*|url\..*|core\.(fsmonitor|hookspath|sshcommand|gitproxy|askpass|editor|pager)|filter\..*\.(clean|smudge|process)|diff\.external|diff\..*\.(command|textconv)|merge\..*\.driver|gpg\.(.*\.)?program|credential\.(.*\.)?helper|remote\..*\.(uploadpack|receivepack|vcs|proxy|pushurl)|hook\..*\.command|include\.path|includeif\..*\.path)$/is

function isHarmless(name: string, value: string): boolean {
  if (name === 'core.fsmonitor') return /^(true|false|yes|no|on|off|0|1|)$/i.test(value)
  if (/^credential\./.test(name)) return !/[!/]/.test(value)
  if (/^http\./.test(name)) return /\.(postbuffer|version|lowspeed(limit|time)|maxrequests|minsessions)$/.test(name)
  return /^filter\.lfs\./.test(name) && /^git-lfs (clean|smudge|filter-process)( --skip)?( -- %f)?$/.test(value)
}

/** The settings in a file of git, with names in lower case but for the part between the dots, which may be anything. */
function readGitConfig(text: string): [name: string, value: string][] {
  const settings: [string, string][] = []
  let section = ''
  for (const line of text.replaceAll(/\\\r?\n/g, '').split(/\r?\n/)) {
    const [, name, middle, rest = ''] = /^\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\](.*)$/.exec(line) ?? []
    if (name !== undefined) section = middle === undefined ? name.toLowerCase() : `${name.toLowerCase()}.${middle}`
    const [, key, value = 'true'] =
      /^\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*?))?\s*$/.exec(name === undefined ? line : rest) ?? []
    if (key !== undefined) settings.push([`${section}.${key.toLowerCase()}`, value.replace(/^"(.*)"$/, '$1')])
  }
  return settings
}

/**
 * Variables that keep git from starting these programs. A filter fails instead of being left out: without it, a file that it
 * encrypts would be committed as it is.
 */
export function disableGitPrograms(names: readonly string[], env: Record<string, string>): Record<string, string> {
  if (names.length === 0) return {}
  const settings = [...BASE, ...new Map(names.flatMap(overridesFor))]
  const first = Number(env['GIT_CONFIG_COUNT'] ?? 0) || 0
  const variables = settings.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${first + index}`, name],
    [`GIT_CONFIG_VALUE_${first + index}`, value],
  ])
  return { GIT_CONFIG_COUNT: String(first + settings.length), ...Object.fromEntries(variables) }
}

/** These may also come from a file that is included. */
const BASE: [string, string][] = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
]

function overridesFor(name: string): [string, string][] {
  const [, filter] = /^filter\.(.*)\.(?:clean|smudge|process)$/s.exec(name) ?? []
  if (filter !== undefined)
    return [
      [`filter.${filter}.clean`, 'false'],
      [`filter.${filter}.smudge`, 'false'],
      [`filter.${filter}.process`, ''],
      [`filter.${filter}.required`, 'true'],
    ]
  if (/^diff\..*\.textconv$/s.test(name)) return [[name, 'cat']]
  if (/^diff\.(external|.*\.command)$/s.test(name)) return [[name, 'echo']]
  if (/^merge\..*\.driver$/s.test(name)) return [[name, 'git merge-file --marker-size=%L %A %O %B']]
  if (/^credential\./.test(name)) return [[name, '']]
  if (/^http\..*sslverify$/s.test(name)) return [[name, 'true']]
  if (/^(http\.|remote\..*\.(proxy|vcs)$)/s.test(name)) return [[name, '']]
  const [, hook] = /^hook\.(.*)\.command$/s.exec(name) ?? []
  if (hook !== undefined)
    return [
      [`hook.${hook}.enabled`, 'false'],
      [name, 'false'],
    ]
  if (/^remote\..*\.(uploadpack|receivepack)$/s.test(name)) return [[name, 'false']]
  return /^(core\.(sshcommand|gitproxy|askpass|editor)|gpg\.)/.test(name) ? [[name, 'false']] : []
}
