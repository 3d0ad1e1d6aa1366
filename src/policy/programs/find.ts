import { type ProgramCall, showsFiles } from '../classify/call.ts'
import { locatePath } from '../paths/fence.ts'
import { isHeldRemoval, isMadeAgain } from '../paths/judge-path.ts'
import { findSecretPart, globFindsSecret, looksForSecrets } from '../paths/secret-files.ts'
import { type Arg, deriveArg, HOLE, isFlag } from '../shell/args.ts'
import { flagTable, type ScannedFlags, scanFlags } from '../shell/flag-table.ts'
import { hasPattern, leadsOut } from '../shell/printed.ts'
import { judgeFlags } from './rule-builders.ts'
import { judgeSecretNames } from './search.ts'

/** Tests, and actions that print. The first list takes the next word. */
const TAKES_WORD = new Set(
  `-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -atime -ctime -mmin -amin -cmin
   -newer -anewer -cnewer -newermt -newerat -newerct -newermm -maxdepth -mindepth -perm -user -group -uid -gid -links -inum -samefile
   -lname -ilname -fstype -used -printf -context -D -newerBt -Btime -Bmin -depth`.split(/\s+/),
)
const PLAIN = new Set(
  `-not -and -or -a -o -print -print0 -ls -prune -quit -empty -true -false -depth -d -mount -xdev -follow -daystart -noleaf -warn -nowarn
   -readable -writable -executable -nouser -nogroup -ignore_readdir_race -noignore_readdir_race -L -P -H -O0 -O1 -O2 -O3 -E -X -x -s
   -nocase -f --`.split(/\s+/),
)

/** find: LOW, except for actions that run, delete or write. */
export function find(call: ProgramCall): undefined {
  const { args } = call
  const leftOver = findLeftOver(call)
  for (let index = 0; index < args.length; index++) {
    const arg = args[index]
    if (arg === undefined) break
    if (/^-(exec|execdir|ok|okdir)$/.test(arg.value)) {
      const end = args.findIndex(
        (word, at) => at > index && (word.value === ';' || (word.value === '+' && args[at - 1]?.value === '{}')),
      )
      const inner = args
        .slice(index + 1, end < 0 ? undefined : end)
        .map(word => (word.value === '{}' ? deriveArg(`./${leftOver ?? '{found}'}`, word) : word))
      judgeFoundFiles(call, inner)
      runThere(call, inner, /dir$/.test(arg.value))
      if (/dir$/.test(arg.value))
        call.say('cwd.unknown', 'MEDIUM', `${arg.text} runs it in the folder of each file that is found`, arg)
      if (end < 0) call.say('shell.unreadable', 'HIGH', 'find -exec without an end', arg)
      else index = end
    } else if (arg.value === '-delete')
      call[leftOver === undefined ? 'say' : isMade(leftOver, call) ? 'settle' : 'hold'](
        'file.delete',
        'HIGH',
        'find -delete deletes files',
        arg,
      )
    else if (/^-(fprint0?|fprintf|fls)$/.test(arg.value))
      call.say('write.flag', 'HIGH', `find ${arg.text} writes a file`, arg)
    else if (arg.value === '-files0-from') call.say('read.indirect', 'MEDIUM', 'the folders come from a file', arg)
    else if (TAKES_WORD.has(arg.value) && !(arg.value === '-depth' && !/^[+-]?\d/.test(args[index + 1]?.value ?? '')))
      index += skipValue(call, args[index + 1])
    else if (isFlag(arg) && arg.known && !PLAIN.has(arg.value))
      call.say('flag.unknown', 'MEDIUM', `${arg.text} is not a test of find that the policy knows`, arg)
    else if (!arg.known) {
      call.path(arg, 'read')
      // After the folders an unknown word may be a test, or an action that deletes.
      if (index > 0 && arg.value.startsWith(HOLE))
        call.say('flag.unknown', 'MEDIUM', `${arg.text} may be anything that find does`, arg)
    }
  }
  const named = args.find(
    (arg, at) =>
      (/^-i?(name|path|wholename|lname)$|^-(samefile|newer.*)$/.test(args[at - 1]?.value ?? '') &&
        findsSecret(arg.value)) ||
      (/^-i?regex$/.test(args[at - 1]?.value ?? '') && TELLING.test(arg.value)),
  )
  if (named && args.some(arg => /^-(exec|execdir|ok|okdir)$/.test(arg.value)))
    call.say('path.secret', 'HIGH', `${named.text} finds files with secrets`, named)
  const stop = args.findIndex(arg => isFlag(arg) || /^[(!,)]/.test(arg.value))
  const tops = stop < 0 ? args : args.slice(0, stop)
  const wanted = args.find(
    ({ value }, at) => /^-i?(name|path|wholename|lname)$/.test(args[at - 1]?.value ?? '') && looksForSecrets(value),
  )
  if (wanted && tops.some(arg => leadsOut(arg.value, call.scope)))
    call.say('read.secrets', 'MEDIUM', `${wanted.text} looks for secrets outside of the project`, wanted)
  for (const arg of tops) {
    call.path(arg, 'read')
    const path = arg.value.replace(/\/+$/, '') || '/'
    if (path === '/' || path === call.scope.home)
      call.say('read.wide', 'MEDIUM', `${arg.text} is the whole machine or home`, arg)
    const rights = args.find(({ value }) => /^-(perm|user|group|uid|gid|nouser|nogroup|writable)$/.test(value))
    if (rights && leadsOut(arg.value, call.scope))
      call.say('system.probe', 'MEDIUM', `${rights.text} looks for weak rights on the machine`, rights)
  }
}

/** Whether only tools use such a name. */
function isMade(name: string, { scope, fence }: ProgramCall): boolean {
  return (
    (/\.(pyc|pyo|tsbuildinfo|gcda|gcno)$/.test(name) || /^[\w-]+\/?$/.test(name)) &&
    isMadeAgain(name, { cwd: scope.cwd ?? fence.boundary, fence })
  )
}

/** The name of what builds leave behind, if that is all that is looked for, in folders of the project. */
function findLeftOver({ args: all, scope, fence }: ProgramCall): string | undefined {
  const { cwd } = scope
  // `-not -path x` leaves out more.
  const leaves = (at: number) =>
    /^(-not|!)$/.test(all[at]?.value ?? '') && /^-i?(path|wholename)$/.test(all[at + 1]?.value ?? '')
  const args = all.filter((_, at) => !leaves(at) && !leaves(at - 1) && !leaves(at - 2))
  if (cwd === undefined || args.some(arg => !arg.known || /^(-o|-or|-not|!|,|-L|-follow)$/.test(arg.value)))
    return undefined
  const stop = args.findIndex(arg => isFlag(arg) || /^[(!,)]/.test(arg.value))
  const isOwn = args.slice(0, Math.max(stop, 0)).every(arg => locatePath(arg.value, cwd, fence).where === 'inside')
  // All that is in a folder which builds make is left over.
  const top =
    stop === 1 && args[0] && isHeldRemoval({ path: args[0].value, deep: true }, { cwd, fence }) ? args[0] : undefined
  const removes = args.every(
    (arg, at) => !/^-(exec|execdir|ok|okdir)$/.test(args[at - 1]?.value ?? '') || arg.value === 'rm',
  )
  if (top?.known && removes && fence.worktree === undefined && !top.glob) return top.value
  const name = args[args.findIndex(arg => arg.value === '-name') + 1]?.value
  if (!isOwn || name === undefined || !args.some(arg => arg.value === '-name')) return undefined
  // What stands before the name is done with every file.
  if (
    args.findIndex(arg => arg.value === '-name') >
    args.findIndex(arg => /^-(delete|exec|execdir|ok|okdir)$/.test(arg.value))
  )
    return undefined
  return isHeldRemoval({ path: name, deep: true }, { cwd: fence.boundary, fence }) && !/^\*+$/.test(name)
    ? name
    : undefined
}

/**
 * Judges a program that shows every file that is found: in the project, the files must be named by a pattern, because others may hold
 * secrets. A search for a text in all of them is like `grep -r`.
 */
function judgeFoundFiles(call: ProgramCall, inner: readonly Arg[]): undefined {
  const name = inner.find(arg => !isFlag(arg) && !/^(env|nice|timeout|command|xargs|\d+\w?)$/.test(arg.value))
  const isShell = name !== undefined && /^(ba|da|z|k)?sh$/.test(name.value)
  if (name === undefined || !(showsFiles(name.value) || isShell)) return
  const stop = call.args.findIndex(arg => isFlag(arg) || /^[(!,)]/.test(arg.value))
  const roots = stop < 0 ? call.args : call.args.slice(0, stop)
  const outside = roots.find(arg => !arg.known || leadsOut(arg.value, call.scope))
  const words = call.args.map(arg => arg.value)
  const isNamed = hasPattern(words)
  const searches = /^([ef]?grep|rg|ag|ack)$/.test(name.value)
  if (outside) call.say('read.indirect', 'MEDIUM', `${name.text} shows files below ${outside.text}`, outside)
  else if (!isNamed && !searches)
    call.say('read.indirect', 'MEDIUM', `${name.text} shows every file that is found, hidden ones too`, name)
  else if (!isNamed) judgeSecretNames(call, inner)
}

/** Words in a pattern that looks for secrets. */
const TELLING = /env|key|pem|ssh|secret|cred|token|id_|passw|netrc|npmrc|aws/i

/** `-execdir` runs the command in the folder of the file, which may be any folder. */
function runThere(call: ProgramCall, inner: readonly Arg[], there: boolean): undefined {
  const { cwd } = call.scope
  if (there) call.scope.cwd = undefined
  call.run(inner)
  call.scope.cwd = cwd
}

/** Judges the value of a test. An unknown value may become several words. */
function skipValue(call: ProgramCall, word: Arg | undefined): 1 {
  if (word && !word.known) call.path(word, 'read')
  return 1
}

function findsSecret(pattern: string): boolean {
  return globFindsSecret(pattern) || findSecretPart(pattern) !== undefined
}

const FD_FLAGS = flagTable({
  harmless: `-HIuisgFap0lLq1 -d: -t: -e: -E: -c: -j: -S: -o: --hidden --no-hidden --no-ignore --no-ignore-vcs --no-ignore-parent
    --no-global-ignore-file --ignore --ignore-vcs --unrestricted --case-sensitive --ignore-case --glob --regex --fixed-strings --and: --absolute-path
    --list-details --follow --no-follow --full-path --print0 --max-depth: --min-depth: --exact-depth: --exclude: --prune --type: --extension: --size:
    --changed-within: --changed-before: --newer: --older: --owner: --color: --hyperlink? --threads: --max-results: --quiet
    --show-errors --path-separator: --strip-cwd-prefix? --one-file-system --no-require-git --format: --relative-path --batch-size:
    --changed-after: --change-newer-than: --change-older-than:`,
  reads: '--ignore-file: --search-path: --base-directory: -C:',
  asks: '-x -X --exec --exec-batch',
})

/** fd: LOW, except for commands that it runs on every file that it finds. */
export function fd(call: ProgramCall): undefined {
  const index = call.args.findIndex(arg => EXEC.test(arg.value))
  const flag = call.args[index]
  const seen = scanFlags(flag ? call.args.slice(0, index) : call.args, FD_FLAGS)
  judgeFlags(call, seen)
  const [wanted, ...tops] = seen.operands
  for (const arg of tops) call.path(arg, 'read')
  if (
    wanted &&
    tops.some(arg => leadsOut(arg.value, call.scope)) &&
    [wanted.value, `*.${wanted.value}`].some(looksForSecrets)
  )
    call.say('read.secrets', 'MEDIUM', `${wanted.text} looks for secrets outside of the project`, wanted)
  if (flag === undefined) return
  const attached = /^(?:--[a-z-]+=|-[a-zA-Z0]*?[xX]=?)(.+)$/s.exec(flag.value)?.[1]
  const inner = call.args.slice(index + 1).filter(arg => arg.value !== ';')
  judgeFdFiles(call, seen, attached ?? inner[0]?.value ?? '')
  const { cwd } = call.scope
  if (seen.flags.some(known => /^(C|base-directory)$/.test(known.name))) call.scope.cwd = undefined
  const words = attached === undefined ? inner : [{ ...flag, value: attached }, ...inner]
  // Without braces the names of the files come last.
  const isRemoval = /^(rm|rmdir|unlink|rimraf)$/.test(words[0]?.value ?? '')
  call.run(isRemoval ? [...words, { ...flag, value: HOLE, known: false }] : words)
  call.scope.cwd = cwd
}

/** A program that shows every file that fd finds: the files must be in the project, and named by a pattern or an ending. */
function judgeFdFiles(call: ProgramCall, { flags, operands }: ScannedFlags, name: string): undefined {
  if (!showsFiles(name)) return
  const outside = operands.slice(1).find(arg => !arg.known || leadsOut(arg.value, call.scope))
  const elsewhere = flags.some(flag => /^(C|base-directory|search-path)$/.test(flag.name))
  const pattern = operands[0]?.value ?? ''
  const isNamed = /\w/.test(pattern) || flags.some(flag => /^(e|extension)$/.test(flag.name))
  if (outside || elsewhere || !isNamed || TELLING.test(pattern))
    call.say('read.indirect', 'MEDIUM', `${name} shows every file that is found`, outside ?? call.head)
}

/** `-x`, also in a cluster or with the program attached, and the long forms, also abbreviated. */
const EXEC = /^(-[HIuisgFap0lLq1]*[xX].*|--exec?(-b[a-z]*)?(=.*)?|--exec.*)$/s
