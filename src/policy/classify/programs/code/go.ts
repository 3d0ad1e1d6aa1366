import type { Call } from '../../call.ts'
import { findFlag, operandsOf } from '../../words/flags.ts'
import { judgeScriptFile } from '../common/script-file.ts'
import { judgeToolWords } from '../common/tool-words.ts'

export function go(call: Call): undefined {
  const [verb, ...rest] = operandsOf(call.args, [
    '-run',
    '-o',
    '-C',
    '-exec',
    '-toolexec',
    '-overlay',
    '-modfile',
    '-tags',
    '-ldflags',
    '-gcflags',
    '-asmflags',
    '-count',
    '-timeout',
    '-bench',
    '-coverprofile',
    '-p',
    '-mod',
    '-vettool',
    '-fuzz',
    '-cpu',
    '-parallel',
    '-cpuprofile',
    '-memprofile',
  ])
  const runs = call.args.find(
    arg =>
      /^--?(exec|toolexec|vettool|overlay|modfile|pkgdir|gccgoflags|linkmode|extld.*|C)(=|$)/.test(arg.value) ||
      /-extld|-plugin/.test(arg.value),
  )
  if (runs) call.say('flag.runs', 'HIGH', `${runs.text} makes go run something else`, runs)
  judgeToolWords(call, call.args)
  const out = findFlag(call.args, ['-o', '--o'])
  if (out?.value) call.path(out.value, 'write')
  if (verb === undefined) return
  if (verb.value === 'env' && call.args.some(arg => /^-[wu]$/.test(arg.value)))
    return call.say('tool.settings', 'MEDIUM', 'go env -w changes go for good', verb)
  if (/^(test|build|vet|fmt|list|doc|env|version)$/.test(verb.value)) return
  if (verb.value === 'mod')
    return rest[0] && /^(graph|why|verify|tidy|download|vendor)$/.test(rest[0].value)
      ? undefined
      : call.say('tool.other', 'MEDIUM', 'go mod changes the module', verb)
  if (verb.value === 'run') return judgeGoRun(call, rest[0])
  call.say(
    verb.value === 'install' || verb.value === 'get' ? 'pkg.foreign' : 'tool.other',
    'MEDIUM',
    `go ${verb.value}`,
    verb,
  )
}

function judgeGoRun(call: Call, target: Parameters<typeof judgeScriptFile>[1] | undefined): undefined {
  if (target === undefined) return
  if (/@|^[\w-]+\.[a-z]+\//.test(target.value))
    return call.say('pkg.exec', 'MEDIUM', `${target.text} may be fetched and run`, target)
  judgeScriptFile(call, target)
}
