import { setTimeout as sleep } from 'node:timers/promises'
import type { AppPaths } from '../../base/app-paths.ts'
import type { StartSession } from '../../domain/api.ts'
import { loadConfig } from '../../domain/config/load.ts'
import type { Task } from '../../domain/task.ts'
import type { IndexStamp } from '../../knowledge/index/code-index.ts'
import { NOTES_FOLDER } from '../../knowledge/read-notes.ts'
import { trustedFile, trustStatus } from '../../policy/trust/trust.ts'
import type { BriefSection } from '../brief/build-brief.ts'
import { firstTokens, stripInvisible } from '../brief/prompt-text.ts'
import type { Policy } from '../session/context.ts'
import { settingsOfCaller } from '../session/settings.ts'
import type { CodeAnswer, CodeSearch } from './code-search.ts'
import { readableCode } from './readable-code.ts'

/** What looking up code for a task needs. `caller` is whose settings count. */
export interface TaskLookUp {
  paths: AppPaths
  env: Record<string, string | undefined>
  policy: Policy
  code: CodeSearch
  caller: Pick<StartSession, 'config' | 'settings'>
}

/** Searches for the code that a task is about. Undefined if that is switched off, or fails. Never throws. */
export async function lookUpForTask(
  { project, title, description }: Pick<Task, 'project' | 'title' | 'description'>,
  { policy, code, caller, ...own }: TaskLookUp,
): Promise<CodeAnswer | undefined> {
  try {
    const { paths, env } = settingsOfCaller(caller, own)
    const trusted = trustedFile(await trustStatus(paths, project))
    const { config } = await loadConfig({ paths, env, project, trusted })
    if (!config.knowledge.enabled) return undefined
    const rules = async () => (await policy.loadRules({ paths: own.paths, project, trusted })).rules
    const { safe_directories: safeDirectories } = config.permissions
    const reader = { project, home: env['HOME'] ?? paths.home, safeDirectories, rules }
    return await readableCode(project, { code, classify: policy.classify, policy: reader }).search({
      query: `${title}\n${description}`,
      freshMs: code.patienceMs,
      neighbours: true,
    })
  } catch {
    return undefined // a brief without code is only shorter
  }
}

/** What was found in time, if it is worth showing; undefined otherwise. Never throws: without code a prompt is only shorter. */
export async function foundInTime(
  search: Promise<CodeAnswer | undefined>,
  { patienceMs }: Pick<CodeSearch, 'patienceMs'>,
): Promise<CodeAnswer | undefined> {
  const found = await Promise.race([search.catch(() => undefined), sleep(patienceMs, undefined, { ref: false })])
  const results = found?.results.filter(({ chunk_text }) => chunk_text.trim() !== '') ?? []
  const least = Math.max(LEAST_SCORE, (results[0]?.score ?? 0) * LEAST_SHARE)
  const good = results.filter(({ score }) => score >= least)
  return found && good.length > 0 ? { ...found, results: good } : undefined
}

/** A rare word that several tables of the index know scores more; common words together score less. */
const LEAST_SCORE = 8
/** What scores far less than the best is there by chance. */
const LEAST_SHARE = 0.4

/** Most tokens of the section, and of one piece of code. */
const MAX_SECTION = 3_000
const MAX_CHUNK = 400

/** The section of a brief with code that the words of a task lead to, if some was found in time. Notes have a section of their own. */
export async function codeSections(
  search: Promise<CodeAnswer | undefined>,
  code: Pick<CodeSearch, 'patienceMs'>,
): Promise<BriefSection[]> {
  const withoutNotes = search.then(all => all && { ...all, results: all.results.filter(isNoNote) })
  const found = await foundInTime(withoutNotes, code)
  if (!found) return []
  const pieces = found.results.map((result, index) => ({
    text: `${index === 0 ? `${INTRO}\n\n` : ''}${sourceLines(result, found.stamp)}`,
    verbatim: firstTokens(result.chunk_text, MAX_CHUNK),
  }))
  return [{ name: 'code', title: 'Code that may be about this', pieces, tokens: MAX_SECTION, weight: 25 }]
}

function isNoNote({ file_path }: CodeAnswer['results'][number]): boolean {
  return !file_path.startsWith(`${NOTES_FOLDER}/`)
}

const INTRO =
  'The index of this project found it by the words of the task. Nobody has chosen it: it may be beside the point, and the files may have changed since.'

/** The code for a brain: material to judge, which its prompt fences off like everything that was written by others. */
export function codeText({ results, stamp }: CodeAnswer): string {
  return results
    .map(result => `${sourceLines(result, stamp)}\n${firstTokens(result.chunk_text, MAX_CHUNK)}`)
    .join('\n\n')
}

/** Where a piece of code comes from, and with which files it is connected: `src/a.ts:10-40 @1f0311ea`, `used by: src/b.ts`. */
function sourceLines(result: CodeAnswer['results'][number], { commit }: IndexStamp): string {
  const { uses = [], used_by = [], changed_with = [] } = result.neighbours ?? {}
  const near = Object.entries({ uses, 'used by': used_by, 'changed together with': changed_with })
  return [
    `${placeOf(result)}${commit === undefined ? '' : ` @${commit.slice(0, 8)}`}`,
    ...near
      .filter(([, paths]) => paths.length > 0)
      .map(([what, paths]) => `${what}: ${paths.map(shownPath).join(', ')}`),
  ].join('\n')
}

/** `src/a.ts:10-40`; only the path if just the name of a file was found. */
export function placeOf({ file_path, start_line, end_line }: CodeAnswer['results'][number]): string {
  return `${shownPath(file_path)}${start_line > 0 ? `:${start_line}-${end_line}` : ''}`
}

/** The name of a file may contain line ends, and text that looks like ours. */
export function shownPath(path: string): string {
  return stripInvisible(path).replace(/\s+/g, ' ')
}
