import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Assessment } from '../../../src/domain/assessment.ts'
import { openClassifier } from '../../../src/policy/classify/classify.ts'

const classifier = openClassifier({ realPath: path => path })

function assess(command: string): Assessment {
  return classifier.classify({ tool: 'Bash', input: { command }, project: '/proj', home: '/home/u' }) as Assessment
}
const codes = (command: string) => assess(command).reasons.map(({ risk, code }) => `${risk} ${code}`)
const runsUnknown = (command: string) => codes(command).includes('HIGH name.unknown')

test('a variable is followed while only one line sets it', () => {
  for (const command of [
    'x=ls; $x',
    'x=ls; y=rm; $x',
    'x=ls; echo "$x" "${x}" "${y:-$x}"; $x',
    'x=ls; read y; $x',
    'x=ls; printf -v y a; $x',
    'x=ls; export y=a; $x',
    'export x=ls; $x',
    'for x in ls pwd; do $x; done',
    'x=ls; echo readx x; $x',
  ])
    assert.ok(!runsUnknown(command), command)
})

test('a variable that another line may have set is not followed, wherever that line stands', () => {
  for (const setter of [
    'x=rm',
    'x+=rm',
    'x[0]=rm',
    'x=(rm)',
    'read x',
    'read -r a x',
    'command read x',
    'builtin read x',
    'mapfile x',
    'declare x=rm',
    'typeset x',
    'local x=rm',
    'export x=rm',
    'readonly x=rm',
    'unset x',
    'getopts a x',
    'printf -v x rm',
    'printf -vx rm',
    'let x=1',
    'for x in rm; do :; done',
    'select x in rm; do :; done',
    '{ x=rm; }',
    '( x=rm )',
    'if a; then x=rm; fi',
    'if a; then :; else x=rm; fi',
    'while a; do x=rm; done',
    'case a in b) x=rm;; esac',
    'a && x=rm',
    'a | x=rm',
    'x=rm &',
    'f() { x=rm; }; f',
    'echo $(x=rm)',
    'echo "$(x=rm)"',
    'cat <(x=rm)',
    'echo "${x:=rm}"',
    'echo ${y:-${x:=rm}}',
    'echo ${y:-$(x=rm)}',
    'echo $(( $(x=rm) ))',
    'echo {a,$(x=rm)}',
    'y=${x:=rm}',
    'y=$(x=rm)',
    'y=($(x=rm))',
    'cat < "${x:=rm}"',
    'cat <<< "${x:=rm}"',
    'cat <<E\n${x:=rm}\nE',
    'case ${x:=rm} in a) ;; esac',
    'for y in ${x:=rm}; do :; done',
    '[[ -n ${x:=rm} ]]',
  ]) {
    assert.ok(runsUnknown(`x=ls; ${setter}\n$x`), `after ${setter}`)
    assert.ok(runsUnknown(`x=ls; while a; do $x; ${setter}\ndone`), `before ${setter}`)
  }
})

test('a name that only begins or ends like the variable is another variable', () => {
  for (const other of ['xx=rm', 'read xx', 'export xx=rm', 'printf -v xx rm', 'x2=rm', '_x=rm', 'read -p x y'])
    assert.ok(!runsUnknown(`x=ls; ${other}; $x`) || other === 'read -p x y', other)
})

test('a command may find itself in every folder that another line goes to', () => {
  for (const goes of [
    'cd /home/u/.ssh',
    'pushd /home/u/.ssh',
    'cd -P /home/u/.ssh',
    'cd ../home/u/.ssh',
    'command cd /home/u/.ssh',
  ])
    assert.ok(codes(`while a; do cat id; ${goes}; done`).includes('HIGH path.secret'), goes)
  for (const goes of ['cd src', 'pushd docs', 'echo cd /home/u/.ssh', 'ls /home/u'])
    assert.ok(!codes(`while a; do cat id; ${goes}; done`).includes('HIGH path.secret'), goes)
  assert.ok(codes('a || cd .git; cp x config').includes('HIGH path.git'))
})

test('what is printed by a plain echo or printf is known, everything else is not', () => {
  for (const command of [
    'cat $(echo .env)',
    'cat $(printf .env)',
    'cat $(printf %s .env)',
    'cat $(printf %s%s .e nv)',
    'cat `echo .env`',
    "cat $(echo '.env')",
  ])
    assert.ok(codes(command).includes('HIGH path.secret'), command)
  for (const command of [
    'cat $(echo -e a)',
    'cat $(echo a b)',
    'cat $(echo a; echo b)',
    'cat $(A=1 echo a)',
    'cat $(echo a > b)',
    'cat $(echo $y)',
    'cat $(echo ~)',
    'cat $(printf)',
    'cat $(echo "a\\nb")',
    'echo() { ls; }; cat $(echo a)',
    'cat $(pwd)',
  ])
    assert.ok(
      codes(command).some(code => / (read\.indirect|write\.redirect)$/.test(code)),
      `${command} ${codes(command)}`,
    )
  for (const command of [
    'cat $(echo a)',
    'cat $(printf a)',
    'cat $(echo src/a.ts)',
    'cat $(echo -x)',
    'cat $(echo a-n)',
  ])
    assert.deepEqual(
      codes(command).filter(code => code.endsWith('arg.unknown')),
      [],
      command,
    )
})

test('a word of which a part is not known is judged by the parts that are', () => {
  const rows: [string, string][] = [
    ['cat "$x/.env"', 'HIGH path.secret'],
    ['cat "$x.env"', 'HIGH path.secret'],
    ['cat ".env$x"', 'HIGH path.secret'],
    ['cat "/home/u/.ssh/$x"', 'HIGH path.secret'],
    ['cat "$x/.ssh/id_rsa"', 'HIGH path.secret'],
    ['cat "$x"', 'MEDIUM read.indirect'],
    ['cat "/$x"', 'MEDIUM read.indirect'],
    ['cat "src/$x"', 'MEDIUM read.indirect'],
    ['wc -l "$x"', 'MEDIUM arg.unknown'],
    ['cp a "$x"', 'HIGH write.unknown'],
  ]
  for (const [command, code] of rows) assert.ok(codes(command).includes(code), `${command}: ${codes(command)}`)
})

test('a pattern is judged by its fixed beginning and by what it is written to find', () => {
  const rows: [string, string[]][] = [
    ['cat src/*.ts', []],
    ['cat *', []],
    ['cat .en*', ['HIGH path.secret']],
    ['cat ~/.ssh/*', ['HIGH path.secret']],
    ['cat */.env', ['HIGH path.secret']],
    ['cat src/*/id_rsa', ['HIGH path.secret']],
    ['cp a src/*', ['MEDIUM file.copy']],
    ['cp a /etc/*', ['HIGH path.outside', 'MEDIUM file.copy']],
    ['cp a .x*', ['HIGH write.pattern', 'MEDIUM file.copy']],
    ['cp a .github/*', ['HIGH write.pattern', 'MEDIUM file.copy']],
  ]
  for (const [command, expected] of rows) assert.deepEqual(codes(command), expected, command)
})

test('modules of python are programs, things to show, or code', () => {
  const rows: [string, string[]][] = [
    ['python3 -m pytest', []],
    ['python3 -mpytest', []],
    ['python3 -m pip install x', codes('pip install x')],
    ['python3 -m json.tool a.json', []],
    ['python3 -m json.tool a.json b.json', ['HIGH write.flag', 'MEDIUM write.project']],
    ['python3 -m json.tool --indent 2 a.json', []],
    ['python3 -m json.tool --frob a.json', ['MEDIUM tool.flag']],
    ['python3 -m json.tool .env', ['HIGH path.secret']],
    ['python3 -m zipfile -l a.zip', []],
    ['python3 -m tarfile --list a.tar', []],
    ['python3 -m zipfile -e a.zip b', ['MEDIUM tool.flag', 'MEDIUM file.archive']],
    ['python3 -m timeit -n 5 1', []],
    ['python3 -m timeit "import os; os.remove(1)"', codes('python3 -c "import os; os.remove(1)"')],
    ['python3 -m cProfile a.py', ['MEDIUM script.project']],
    ['python3 -m cProfile -o out a.py', ['HIGH write.flag', 'MEDIUM script.project']],
    ['python3 -m cProfile -s time a.py', ['MEDIUM script.project']],
    ['python3 -m cProfile -m pytest', []],
    ['python3 -m cProfile', ['MEDIUM code.module']],
    ['python3 -m pdb a.py', ['MEDIUM script.project']],
    ['python3 -m frob', ['MEDIUM code.module']],
    ['python3 -m xtimeit a', ['MEDIUM code.module']],
    ['python3 -m timeitx a', ['MEDIUM code.module']],
    ['python3 -m xjson.tool a b', ['MEDIUM code.module']],
    ['python3 -m "$x"', ['HIGH code.unknown']],
  ]
  for (const [command, expected] of rows) assert.deepEqual(codes(command), expected, command)
})
