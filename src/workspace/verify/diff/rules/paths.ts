import { matchesGlob, posix } from 'node:path'
import type { Change, ChangedFile } from '../change/change.ts'
import { isCi, isLockFile, MANIFEST_OF, nameOf } from '../change/file-kind.ts'
import { block, type DiffFinding, type DiffRule, note } from './rule.ts'

/** Files that an agent does not change by itself, whatever its task is. */
export const pathRule: DiffRule = (change, { forbiddenPaths }) =>
  change.files.flatMap(file => {
    const pattern = forbiddenPaths.find(each => fits(file.path, each))
    if (pattern !== undefined)
      return [block('path.forbidden', `${file.path} was changed, which "${pattern}" keeps for people.`, at(file))]
    return builtIn(file, change)
  })

/** `docs/**`, `*.sql` (anywhere) and `migrations/` are all meant as people write them. */
export function fits(path: string, pattern: string): boolean {
  const plain = pattern.replace(/^\.?\//, '')
  if (plain.endsWith('/')) return path.startsWith(plain)
  if (path === plain || path.startsWith(`${plain}/`)) return true
  return matchesGlob(path, plain) || (!plain.includes('/') && matchesGlob(nameOf(path), plain))
}

function builtIn(file: ChangedFile, change: Change): DiffFinding[] {
  const { path } = file
  if (/(^|\/)\.perpetualcc(\.toml$|\/(?!features\/|notes\/|knowledge\/|specs?\/))/i.test(path) || GUARD.test(path))
    return [block('path.guard', `${path} steers the agent or its guard: leave it to a person.`, at(file))]
  if (HOOKS.test(path)) return [block('path.hook', `${path} is run by git: leave it to a person.`, at(file))]
  if (isCi(path))
    return [block('path.ci', `${path} runs elsewhere, with secrets at hand: leave it to a person.`, at(file))]
  if (INSTALLED.test(path)) {
    const text = `${path} is installed or loaded by other programs and does not belong into a commit.`
    return [block('path.installed', text, at(file))]
  }
  if (file.kind === 'submodule' && file.status === 'added') {
    const text = `${path} is a repository of its own, of which this one holds nothing: take its .git away and commit its files.`
    return [block('diff.nested', text, at(file))]
  }
  if (file.kind === 'submodule')
    return [note('diff.submodule', `${path} is a submodule, and points at another commit.`, at(file))]
  return [...lockFindings(file, change), ...modeFindings(file)]
}

const GUARD =
  /(^|\/)(\.claude\/(settings[^/]*|hooks(\/.*)?|agents\/.*|commands\/.*|skills\/.*|plugins\/.*)|\.mcp\.json|\.claude\.json|\.(codex|gemini|cursor)\/(settings|config|hooks|mcp)[^/]*)$/i
const HOOKS = /(^|\/)(\.husky\/(?!\.gitignore$)[^/]+|\.githooks\/.+|\.git-hooks\/.+|\.gitmodules)$/
const INSTALLED =
  /(^|\/)(node_modules|site-packages|\.venv|venv)\/|(^|\/)(sitecustomize|usercustomize)\.py$|\.pth$|(^|\/)\.pnp\.c?js$/

function lockFindings(file: ChangedFile, change: Change): DiffFinding[] {
  if (!isLockFile(file.path)) return []
  const manifest = MANIFEST_OF[nameOf(file.path)]
  if (manifest === undefined || change.files.some(each => manifest.test(each.path))) return []
  return [note('path.lock', `${file.path} was changed without the manifest that it follows.`, at(file))]
}

function modeFindings(file: ChangedFile): DiffFinding[] {
  const { oldMode, newMode, path } = file
  if (file.kind === 'link') {
    const to = file.added[0]?.text
    if (to !== undefined && leadsOut(path, to))
      return [
        block(
          'diff.link',
          `${path} is a link out of the repository, to ${to}: what lies there is in no commit.`,
          at(file),
        ),
      ]
    return [note('diff.mode', `${path} is a link to ${to ?? 'nowhere'}.`, at(file))]
  }
  if (file.status !== 'modified' || oldMode === newMode) return []
  return newMode === '100755' ? [note('diff.mode', `${path} was made executable.`, at(file))] : []
}

function leadsOut(path: string, to: string): boolean {
  return posix.isAbsolute(to) || /^\.\.(\/|$)/.test(posix.join(posix.dirname(path), to))
}

function at(file: ChangedFile): { file: string } {
  return { file: file.path }
}
