import type { Call } from '../../call.ts'
import type { Arg } from '../../words/arg.ts'
import { flagTable } from '../../words/flag-table.ts'
import { scanFlags } from '../../words/scan-flags.ts'
import { judgeScriptFile } from '../common/script-file.ts'
import { judgeToolWords } from '../common/tool-words.ts'

const FLAGS = flagTable({
  words: true,
  loose: true,
  harmless: `-v -x -n -a -i -l -c -e -m -u -t -s -f: -p: -run: -skip: -count: -timeout: -bench: -benchtime: -benchmem -cover -coverpkg:
    -covermode: -race -msan -asan -short -parallel: -cpu: -tags: -json -list: -failfast -fullpath -shuffle: -vet: -fuzz: -fuzztime:
    -fuzzminimizetime: -trimpath -mod: -buildvcs: -buildmode: -ldflags: -gcflags: -asmflags: -work -deps -test -find -export
    -compat: -go: -diff -all -short -src -cmd -html: -func: -versions -retracted -reuse: -o: -coverprofile: -vendor -require:
    -changed -C:`,
  asks: '-cpuprofile: -memprofile: -blockprofile: -mutexprofile: -trace: -outputdir: -w -pgo: -installsuffix: -compiler:',
  runs: '-exec: -toolexec: -vettool: -overlay: -modfile: -pkgdir: -gccgoflags: -linkmode: -modcacherw',
})

/** go: LOW for what builds, tests and lists the module with flags that are known. */
export function go(call: Call): undefined {
  const { flags, operands, unknown } = scanFlags(call.args, FLAGS)
  const [verb, ...rest] = operands
  judgeToolWords(call, call.args)
  for (const { kind, arg, name, value } of flags) {
    if (kind === 'runs' || (value && /-extld|-plugin|-toolexec|-linkmode|-B |-fplugin/.test(value.value)))
      call.say('flag.runs', 'HIGH', `${arg.text} makes go run something else`, arg)
    else if (kind === 'asks') call.say('tool.flag', 'MEDIUM', `${arg.text} is not everyday`, arg)
    else if (name === 'o' && value) call.path(value, 'write')
    else if (name === 'C') call.say('flag.runs', 'HIGH', `${arg.text} makes go work elsewhere`, arg)
  }
  for (const arg of unknown)
    call.say('tool.flag', 'MEDIUM', `${arg.text} is not a flag of go that the policy knows`, arg)
  if (verb === undefined) return
  judgeVerb(call, verb, rest)
}

function judgeVerb(call: Call, verb: Arg, rest: readonly Arg[]): undefined {
  if (verb.value === 'env' && call.args.some(arg => /^-[wu]$/.test(arg.value)))
    return call.say('tool.settings', 'MEDIUM', 'go env -w changes go for good', verb)
  if (/^(test|build|vet|fmt|list|doc|env|version)$/.test(verb.value)) return
  if (verb.value === 'mod')
    return rest[0] && /^(graph|why|verify|tidy|download|vendor)$/.test(rest[0].value)
      ? undefined
      : call.say('tool.other', 'MEDIUM', 'go mod changes the module', verb)
  if (verb.value === 'run') return judgeGoRun(call, rest[0])
  if (verb.value === 'get' && rest.every(arg => /^(\.|\.\/\.\.\.|all|[\w-]+(\.[\w-]+)+\/[\w./@+-]+)$/.test(arg.value)))
    return call.say('pkg.read', 'MEDIUM', 'go get adds a module that the project names', verb)
  call.say(
    verb.value === 'install' || verb.value === 'get' ? 'pkg.foreign' : 'tool.other',
    'MEDIUM',
    `go ${verb.value}`,
    verb,
  )
}

function judgeGoRun(call: Call, target: Arg | undefined): undefined {
  if (target === undefined) return
  if (/@|^[\w-]+\.[a-z]+\//.test(target.value))
    return call.say('pkg.exec', 'MEDIUM', `${target.text} may be fetched and run`, target)
  judgeScriptFile(call, target)
}
