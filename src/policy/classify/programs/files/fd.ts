import type { Call } from '../../call.ts'
import { flagTable } from '../../words/flag-table.ts'
import { scanFlags } from '../../words/scan-flags.ts'
import { judgeFlags } from '../common/reader.ts'

const FLAGS = flagTable({
  harmless: `-HIuisgFap0lLq1 -d: -t: -e: -E: -c: -j: -S: -o: --hidden --no-hidden --no-ignore --no-ignore-vcs --no-ignore-parent
    --no-global-ignore-file --ignore --ignore-vcs --unrestricted --case-sensitive --ignore-case --glob --regex --fixed-strings --and: --absolute-path
    --list-details --follow --no-follow --full-path --print0 --max-depth: --min-depth: --exact-depth: --exclude: --prune --type: --extension: --size:
    --changed-within: --changed-before: --newer: --older: --owner: --color: --hyperlink? --threads: --max-results: --quiet
    --show-errors --path-separator: --strip-cwd-prefix? --one-file-system --no-require-git --format: --relative-path --batch-size:
    --changed-after: --change-newer-than: --change-older-than:`,
  reads: '--ignore-file: --search-path: --base-directory: -C:',
  asks: '-x -X --exec --exec-batch',
})

/** fd: LOW, but for what it runs on every file that it finds. */
export function fd(call: Call): undefined {
  const place = call.args.findIndex(arg => EXEC.test(arg.value))
  const flag = call.args[place]
  const seen = scanFlags(flag ? call.args.slice(0, place) : call.args, FLAGS)
  judgeFlags(call, seen)
  for (const arg of seen.operands.slice(1)) call.path(arg, 'read')
  if (flag === undefined) return
  const attached = /^(?:--[a-z-]+=|-[a-zA-Z0]*?[xX]=?)(.+)$/s.exec(flag.value)?.[1]
  const inner = call.args.slice(place + 1).filter(arg => arg.value !== ';')
  const { cwd } = call.scope
  if (seen.flags.some(one => /^(C|base-directory)$/.test(one.name))) call.scope.cwd = undefined
  call.run(attached === undefined ? inner : [{ ...flag, value: attached }, ...inner])
  call.scope.cwd = cwd
}

/** `-x`, in a cluster or with the program attached, and the long forms, abbreviated too. */
const EXEC = /^(-[HIuisgFap0lLq1]*[xX].*|--exec?(-b[a-z]*)?(=.*)?|--exec.*)$/s
