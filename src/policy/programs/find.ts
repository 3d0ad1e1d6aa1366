import type { ProgramCall } from '../classify/call.ts'
import { findSecretPart, globFindsSecret } from '../paths/secret-files.ts'
import { type Arg, deriveArg, HOLE, isFlag } from '../shell/args.ts'
import { flagTable, scanFlags } from '../shell/flag-table.ts'
import { judgeFlags } from './rule-builders.ts'

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
  for (let index = 0; index < args.length; index++) {
    const arg = args[index]
    if (arg === undefined) break
    if (/^-(exec|execdir|ok|okdir)$/.test(arg.value)) {
      const end = args.findIndex(
        (word, at) => at > index && (word.value === ';' || (word.value === '+' && args[at - 1]?.value === '{}')),
      )
      const inner = args
        .slice(index + 1, end < 0 ? undefined : end)
        .map(word => (word.value === '{}' ? deriveArg('./{found}', word) : word))
      runThere(call, inner, /dir$/.test(arg.value))
      if (/dir$/.test(arg.value))
        call.say('cwd.unknown', 'MEDIUM', `${arg.text} runs it in the folder of each file that is found`, arg)
      if (end < 0) call.say('shell.unreadable', 'HIGH', 'find -exec without an end', arg)
      else index = end
    } else if (arg.value === '-delete') call.say('file.delete', 'HIGH', 'find -delete deletes files', arg)
    else if (/^-(fprint0?|fprintf|fls)$/.test(arg.value))
      call.say('write.flag', 'HIGH', `find ${arg.text} writes a file`, arg)
    else if (arg.value === '-files0-from') call.say('arg.unknown', 'MEDIUM', 'the folders come from a file', arg)
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
  for (const arg of stop < 0 ? args : args.slice(0, stop)) {
    call.path(arg, 'read')
    const path = arg.value.replace(/\/+$/, '') || '/'
    if (path === '/' || path === call.scope.home)
      call.say('read.wide', 'MEDIUM', `${arg.text} is the whole machine or home`, arg)
  }
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
  for (const arg of seen.operands.slice(1)) call.path(arg, 'read')
  if (flag === undefined) return
  const attached = /^(?:--[a-z-]+=|-[a-zA-Z0]*?[xX]=?)(.+)$/s.exec(flag.value)?.[1]
  const inner = call.args.slice(index + 1).filter(arg => arg.value !== ';')
  const { cwd } = call.scope
  if (seen.flags.some(known => /^(C|base-directory)$/.test(known.name))) call.scope.cwd = undefined
  call.run(attached === undefined ? inner : [{ ...flag, value: attached }, ...inner])
  call.scope.cwd = cwd
}

/** `-x`, also in a cluster or with the program attached, and the long forms, also abbreviated. */
const EXEC = /^(-[HIuisgFap0lLq1]*[xX].*|--exec?(-b[a-z]*)?(=.*)?|--exec.*)$/s
