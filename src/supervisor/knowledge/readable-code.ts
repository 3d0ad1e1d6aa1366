import type { FileContext, RelatedAnswer } from '../../knowledge/graph/ask-graph.ts'
import type { Policy, SessionPolicy } from '../session/context.ts'
import type { CodeAnswer, CodeQuery, CodeSearch, GraphReply } from './code-search.ts'
import { mayReadFile } from './embedding.ts'
import { hideInContext, hideInRelated, hideInResults } from './hide-paths.ts'

/** Whose permission to read counts for what the index answers. */
export interface Reader {
  code: CodeSearch
  classify: Policy['classify']
  policy: Pick<SessionPolicy, 'project' | 'home' | 'worktree' | 'safeDirectories' | 'rules'>
}

/** The index of a project as an agent may see it: a file that it could not read unasked does not appear in any answer. */
export interface ReadableCode {
  search(query: CodeQuery, signal?: AbortSignal): Promise<CodeAnswer>
  related(what: { entity: string; depth: number }): Promise<GraphReply<RelatedAnswer>>
  fileContext(path: string): Promise<GraphReply<FileContext>>
}

/** `project` is indexed; the permissions are those in `policy.project`, which may be a worktree of it. */
export function readableCode(project: string, { code, classify, policy }: Reader): ReadableCode {
  /** Every path that `hide` asks about is judged like the call `Read` of it; the answer is what remains of what was asked. */
  const filter = async <T>(hide: (isShown: (path: string) => boolean) => T): Promise<T> => {
    const asked = new Set<string>()
    hide(path => Boolean(asked.add(path)))
    const rules = await policy.rules()
    const shown = new Set<string>()
    for (const path of asked) if (await mayReadFile(path, { ...policy, rules }, classify)) shown.add(path)
    return hide(path => shown.has(path))
  }
  return {
    async search(query, signal) {
      const { results, stamp } = await code.search(project, query, signal)
      return { results: await filter(isShown => hideInResults(results, isShown)), stamp }
    },
    async related(what) {
      const { answer, stamp } = await code.related(project, what)
      return { answer: answer && (await filter(isShown => hideInRelated(answer, isShown))), stamp }
    },
    async fileContext(path) {
      const { answer, stamp } = await code.fileContext(project, path)
      return { answer: answer && (await filter(isShown => hideInContext(answer, isShown))), stamp }
    },
  }
}
