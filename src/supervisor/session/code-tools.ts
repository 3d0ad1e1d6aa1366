import type { ToolReply } from '../../domain/agent-tools.ts'
import type { FileContext, RelatedAnswer } from '../../knowledge/graph/ask-graph.ts'
import type { IndexStamp } from '../../knowledge/index/code-index.ts'
import { fenceText, firstTokens } from '../brief/prompt-text.ts'
import type { CodeAnswer, CodeQuery, GraphReply } from '../knowledge/code-search.ts'
import { placeOf, shownPath } from '../knowledge/found-code.ts'
import { type ReadableCode, readableCode } from '../knowledge/readable-code.ts'
import type { SessionContext } from './context.ts'

/** How long an agent's search waits for an index that is behind the project. */
const FRESH_MS = 2_000
/** Most tokens of one piece of code, and of a whole answer. */
const MAX_CHUNK = 600
const MAX_ANSWER = 6_000

/** The code of the session's project, as the session may see it. */
export function codeOf({ live, deps }: SessionContext): ReadableCode {
  const { code, policy } = deps
  return readableCode(live.row.project, { code, classify: policy.classify, policy: live.settings.policy })
}

/** `search_code` */
export async function searchCode(query: CodeQuery, call: SessionContext): Promise<ToolReply> {
  const { results, stamp } = await codeOf(call).search({ ...query, freshMs: FRESH_MS })
  return reply(stamp, results.length === 0 ? undefined : results.map(describeResult).join('\n\n'))
}

function describeResult(result: CodeAnswer['results'][number]): string {
  const { definition, kind = '' } = result.metadata
  const what = definition === undefined ? '' : `  (${`${kind} ${definition}`.trim()})`
  const text =
    result.chunk_text === '' ? 'Only its name matches.' : fenceText(firstTokens(result.chunk_text, MAX_CHUNK))
  return `${placeOf(result)}${what}\n${text}`
}

/** `related` */
export async function showRelated(
  { entity, depth = 1 }: { entity: string; depth?: number | undefined },
  call: SessionContext,
): Promise<ToolReply> {
  const { answer, stamp } = await codeOf(call).related({ entity, depth })
  return reply(stamp, answer && describeRelated(answer))
}

function describeRelated({ nodes, edges, isCut, note }: RelatedAnswer): string {
  const byId = new Map(nodes.map(node => [node.id, node]))
  const nameOf = (id: string) => {
    const { kind, name, path, line } = byId.get(id) ?? { kind: 'file', name: id, path: id }
    return kind === 'file'
      ? shownPath(path)
      : `${shownPath(name)} (${shownPath(path)}${line === undefined ? '' : `:${line}`})`
  }
  const lines = edges.map(({ from, to, kind }) => `${nameOf(from)} ${kind} ${nameOf(to)}`)
  return [...lines, ...(isCut ? ['There is more; ask about one of these.'] : []), `(${note})`].join('\n')
}

/** `file_context` */
export async function showFileContext(path: string, call: SessionContext): Promise<ToolReply> {
  const { answer, stamp }: GraphReply<FileContext> = await codeOf(call).fileContext(path.replace(/^\.\//, ''))
  return reply(stamp, answer && describeContext(answer))
}

function describeContext({
  path,
  language,
  imports,
  exports,
  importedBy,
  callers,
  changedWith,
  note,
}: FileContext): string {
  const list = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [] : [`${title}:`, ...lines.map(line => `  ${line}`)]
  return [
    `${shownPath(path)} (${language})`,
    ...list(
      'Imports',
      imports.map(
        ({ from, paths }) => `${shownPath(from)}${paths.length > 0 ? ` → ${paths.map(shownPath).join(', ')}` : ''}`,
      ),
    ),
    ...list(
      'Exports',
      exports.map(({ line, signature }) => `line ${line}: ${shownPath(signature)}`),
    ),
    ...list('Imported by', importedBy.map(shownPath)),
    ...list(
      'Called by',
      callers.map(({ name, path: from, line }) => `${shownPath(from)}:${line} calls ${shownPath(name)}`),
    ),
    ...list(
      'Changed together with',
      changedWith.map(each => `${shownPath(each.path)} (${each.commits} commits)`),
    ),
    `(${note})`,
  ].join('\n')
}

/** An answer with what it refers to, cut to what an agent reads. */
function reply({ commit, dirtyFiles, isStale }: IndexStamp, text: string | undefined): ToolReply {
  const state = [
    commit === undefined ? 'Index without a commit' : `Index at commit ${commit.slice(0, 8)}`,
    ...(dirtyFiles > 0 ? [dirtyFiles === 1 ? '1 file differs from it' : `${dirtyFiles} files differ from it`] : []),
    ...(isStale ? ['still being brought up to date: ask again if something is missing'] : []),
  ].join('; ')
  if (text === undefined) return { ok: true, text: `Nothing was found. (${state})` }
  const shown = firstTokens(text, MAX_ANSWER)
  return { ok: true, text: `${state}\n\n${shown}${shown.length < text.length ? '\n… (cut; ask more precisely)' : ''}` }
}
