import type { Assessment, Piece, Reason } from '../../domain/assessment.ts'
import { type Fence, findOwnHome, locatePath } from '../paths/fence.ts'
import { explainWideRead, isOnlyCopy, isScratchFile, isTemporary, judgePath } from '../paths/judge-path.ts'
import { isFolder } from '../paths/look.ts'
import { globFindsSecret, looksForSecrets } from '../paths/secret-files.ts'
import { expandBraces } from '../shell/expand.ts'
import { isUnreadable, parseShell, precheck } from '../shell/parse.ts'
import { newScope } from '../shell/scope.ts'
import { settleOwn } from '../verdict/sandbox.ts'
import { judgeAddress, judgeOrders } from './address.ts'
import { buildAssessment } from './assessment-tree.ts'
import { isSteered } from './changed-file.ts'
import type { TextEdit, ToolUse } from './tool-use.ts'
import { CommandWalker } from './walk.ts'
import { silencesChecks } from './weaker-checks.ts'

interface AssessContext {
  fence: Fence
  cwd: string
}

/** Assesses a command. Never throws: an internal failure is a reason, and HIGH. */
export function assessCommand(command: string, context: AssessContext): Assessment {
  const early = precheck(command)
  if (isUnreadable(command)) return buildAssessment(makePiece(command, early), normaliseCommand(command))
  try {
    return buildAssessment(
      makePiece(command, early, walkCommand(command, context)),
      normaliseCommand(command),
      settleOwn,
    )
  } catch (error) {
    return refuseCommand(
      command,
      `the policy failed on it: ${error instanceof Error ? error.message.slice(0, 100) : 'unknown'}`,
    )
  }
}

/** The assessment of a command that could not be examined. */
export function refuseCommand(command: string, text: string): Assessment {
  const reason: Reason = { code: 'policy.failed', risk: 'HIGH', text, at: [0, command.length] }
  return buildAssessment(makePiece(command, [reason]), normaliseCommand(command))
}

function walkCommand(command: string, { fence, cwd }: AssessContext): Piece {
  const all = [0, command.length] as const
  if (command.trim() === '')
    return makePiece(command, [{ code: 'shell.empty', risk: 'MEDIUM', text: 'it is empty', at: all }])
  const scope = newScope(cwd, fence.home, { PCC_HOME: findOwnHome(fence) })
  const only = findOnlyFolder(command, { fence, cwd })
  if (only !== undefined) scope.folders = new Set([only])
  const piece = new CommandWalker(command, fence).reading(parseShell(command), scope)
  if (fence.worktree && hijacksGit(piece))
    piece.reasons.push({ code: 'boundary.git', risk: 'HIGH', text: HIJACKED, at: all })
  return piece
}

/** The folder in which a whole command runs, if it begins by going to one that is there and goes nowhere else. */
function findOnlyFolder(command: string, { fence, cwd }: AssessContext): string | undefined {
  if (command.match(GOES)?.length !== 1 || fence.look === undefined) return undefined
  // A folder that was just made can be entered.
  const [, made] = /^\s*mkdir -p (\/tmp\/[\w-]+(?:\/[\w-]+)*) && cd \1 &&/.exec(command) ?? []
  if (made !== undefined && isTemporary(made, fence)) return made
  const [, target] = /^\s*cd\s+([A-Za-z][\w@./-]*)\s*(?:&&|;|\n)/.exec(command) ?? []
  if (target === undefined) return undefined
  const place = locatePath(target, cwd, fence)
  return place.where === 'inside' && isFolder(place.path) ? place.path : undefined
}

const GOES = /\b(cd|pushd|popd|chdir|eval|source|alias|unalias|function|trap|CDPATH)\b|(?:^|[;&|(\n])\s*\.\s/g

const HIJACKED = 'a variable decides where git works or what it runs: call git plainly, in this worktree'

/** Whether a variable that decides what programs load, `GIT_DIR` among them, is set in a command that calls git. */
function hijacksGit(piece: Piece): boolean {
  const all = [piece]
  let isSet = false
  let isCalled = false
  for (let next = all.pop(); next !== undefined; next = all.pop()) {
    all.push(...next.pieces)
    isSet ||= next.reasons.some(({ code }) => code === 'env.hijack')
    isCalled ||= /(^|\/)git(-[^/]*)?$/.test(next.argv?.[0] ?? '')
  }
  return isSet && isCalled
}

function makePiece(text: string, early: Reason[], walked?: Piece): Piece {
  const piece: Piece = walked ?? { text, risk: 'LOW', reasons: [], pieces: [], at: [0, text.length] }
  piece.reasons.unshift(...early)
  return piece
}

/** Runs of blanks are collapsed only where that cannot change the meaning. */
function normaliseCommand(command: string): string {
  const text = command.replaceAll('\r\n', '\n').trim()
  return `Bash ${/['"\\\n#`$<]/.test(text) ? text : text.replace(/[ \t]+/g, ' ')}`
}

interface ToolIdentity {
  tool: string
  /** Servers that we started ourselves. Only that makes a tool ours, never its name. */
  ownServers: readonly string[]
}

/** Assesses a tool call that is no command. */
export function assessTool(
  use: Exclude<ToolUse, { does: 'command' }>,
  identity: ToolIdentity,
  context: AssessContext,
): Assessment {
  const { reason, about } = judge(use, identity, context)
  const text = about === undefined ? identity.tool : `${identity.tool} ${about}`
  return buildAssessment({ text, risk: 'LOW', reasons: [reason], pieces: [] }, text)
}

function judge(
  use: Exclude<ToolUse, { does: 'command' }>,
  identity: ToolIdentity,
  context: AssessContext,
): { reason: Reason; about?: string } {
  switch (use.does) {
    case 'nothing':
      return { reason: { code: 'tool.own', risk: 'LOW', text: "the agent's own bookkeeping" } }
    case 'read':
      return { reason: judgePath(use.path, 'read', context), about: normalisePath(use.path, context) }
    case 'write': {
      const judged = judgePath(use.path, 'write', context)
      const isScratch = judged.code === 'path.outside' && isScratchFile(use.path, context.fence)
      const reason: Reason = isScratch
        ? { code: 'write.temp', risk: 'MEDIUM', text: `a file for now: ${use.path}` }
        : judged
      const worse = reason.risk === 'HIGH' ? undefined : explainWrite(use, context)
      return { reason: worse ?? reason, about: normalisePath(use.path, context) }
    }
    case 'search':
      return {
        reason: judgeSearch(use, context),
        about: [use.base && normalisePath(use.base, context), use.glob].filter(Boolean).join(' '),
      }
    case 'fetch': {
      const reason = judgeAddress(use.url)
      return { reason: (reason.code === 'net.get' && judgeOrders(use.prompt)) || reason, about: use.url }
    }
    case 'look-up':
      return { reason: { code: 'net.search', risk: 'MEDIUM', text: 'it asks a search engine' } }
    case 'server':
      return { reason: judgeServer(use, identity) }
    case 'unknown':
      return {
        reason: { code: 'tool.unknown', risk: soundsDestructive(identity.tool) ? 'HIGH' : 'MEDIUM', text: use.why },
      }
  }
}

/** What is asked about because of the text that a call writes, and of what it makes of the file. */
function explainWrite({ path, text, edits }: Extract<ToolUse, { does: 'write' }>, { cwd, fence }: AssessContext) {
  const place = locatePath(path, cwd, fence)
  const real = place.where === 'strange' ? path : place.path
  const isShort = edits === undefined && text.trim().length < 200
  // What an edit takes away is known only together with the file.
  const onlyCopy = edits === undefined && place.where === 'inside' && isOnlyCopy(place.relative, fence)
  const isRead = isShort || onlyCopy || edits !== undefined || isSteered(real) || silencesChecks(text)
  const found = place.where === 'inside' && isRead ? fence.look?.(real) : undefined
  const before = found?.is === 'file' ? found.bytes.toString('utf8') : undefined
  const after = edits === undefined ? text : applyEdits(before, edits)
  const change = { before, after, added: text, onlyCopy, ...(edits === undefined && { whole: true as const }) }
  const [worst] = new CommandWalker('', fence).explainChange(real, change, newScope(cwd, fence.home))
  return worst
}

/** The text after edits, as the tool makes them; `undefined` if one does not fit. */
function applyEdits(before: string | undefined, edits: readonly TextEdit[]): string | undefined {
  let text = before
  for (const { from, to, all } of edits) {
    if (text === undefined || from === '' || !text.includes(from)) return undefined
    text = all ? text.replaceAll(from, () => to) : text.replace(from, () => to)
  }
  return text
}

/** A search is judged by its folder and the fixed beginning of its pattern. */
function judgeSearch({ base, glob, reads }: Extract<ToolUse, { does: 'search' }>, context: AssessContext): Reason {
  const folder = judgePath(base ?? context.cwd, 'read', context)
  const place = locatePath(base ?? context.cwd, context.cwd, context.fence)
  const wide = reads && place.where === 'outside' ? explainWideRead(place.path, context.fence.home) : undefined
  if (wide && folder.risk !== 'HIGH') return wide
  // The search expands braces: `{.env,*.ts}` means both.
  const globs = glob === undefined ? [] : (expandBraces(glob) ?? [glob])
  const leadsOut = (pattern: string) =>
    /^[/~]|(^|\/)\.\.(\/|$)/.test(pattern)
      ? locatePath(fixedPart(pattern) || '.', base ?? context.cwd, context.fence).where === 'outside'
      : place.where === 'outside'
  const found = globs.find(pattern => leadsOut(pattern) && looksForSecrets(pattern))
  if (found !== undefined && folder.risk !== 'HIGH')
    return { code: 'path.secret', risk: 'HIGH', text: `${found} looks for secrets outside of the project` }
  if (folder.risk !== 'LOW' || glob === undefined) return folder
  if (
    reads &&
    globs.some(pattern => globFindsSecret(pattern) || judgePath(pattern, 'read', context).code === 'path.secret')
  )
    return { code: 'path.secret', risk: 'HIGH', text: `${glob} finds files with secrets` }
  const within = { ...context, cwd: place.where === 'strange' ? context.cwd : place.path }
  const parts = globs.map(fixedPart).filter(part => part !== '')
  return parts.map(part => judgePath(part, 'read', within)).find(({ risk }) => risk !== 'LOW') ?? folder
}

/** The part of a pattern that is a path. */
function fixedPart(pattern: string): string {
  return pattern.replace(/[^/]*[*?[{!].*$/s, '')
}

/** Words in the name of a foreign tool that suggest destruction. */
const DESTRUCTIVE =
  /(^|[_\-.:]|[a-z](?=[A-Z]))(delete|remove|drop|destroy|purge|wipe|truncate|kill|terminate|revoke|reset|force|format|uninstall|erase|shutdown|merge|publish|deploy|transfer|pay|refund|send|exec|execute|eval|run_command|shell)/i

function soundsDestructive(name: string): boolean {
  return DESTRUCTIVE.test(name)
}

function judgeServer({ server, tool }: Extract<ToolUse, { does: 'server' }>, { ownServers }: ToolIdentity): Reason {
  if (ownServers.includes(server)) return { code: 'tool.own', risk: 'LOW', text: `${server} is a server we started` }
  if (soundsDestructive(tool))
    return { code: 'tool.server', risk: 'HIGH', text: `${tool} of ${server} sounds like destruction` }
  return { code: 'tool.server', risk: 'MEDIUM', text: `${tool} belongs to the server ${server}` }
}

/** Spells a path in one way, so that a remembered answer is found again. */
function normalisePath(path: string, { cwd, fence }: AssessContext): string {
  const place = locatePath(path, cwd, fence)
  if (place.where === 'strange') return path
  return place.where === 'inside' ? `./${place.relative}` : place.path
}
