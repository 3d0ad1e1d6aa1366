import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { judgePermission } from '../../../src/brain/rules/permission.ts'
import type { Assessment } from '../../../src/domain/assessment.ts'
import { openClassifier } from '../../../src/policy/classify/classify.ts'
import { tempDir } from '../../support/world.ts'

using classifier = openClassifier({ realPath: path => path })

function passes(command: string): boolean {
  const { risk, reasons } = classifier.classify({
    tool: 'Bash',
    input: { command },
    project: '/proj',
    home: '/home/u',
  }) as Assessment
  return risk !== 'HIGH' && judgePermission({ risk, reasons }).approve
}

/** How the text of a file gets into the variable x, or stays where it is. */
const ORIGINS = [
  ...['x=$(<f)', 'x="$(<f)"', 'read x <f', 'IFS= read -r x <f', 'y=$(<f); x=$y', 'x=${y:-$(<f)}', 'declare x=$(<f)'],
  ...['printf -v x %s "$(<f)"', 'mapfile -t y <f; x=${y[0]}', 'x=1; x=$(<f)', 'export x=$(<f)', 'x=${y-$(<f)}'],
  ...['y=(1 "$(<f)"); x=${y[1]}', 'x=$(echo "$(<f)")', 'true && x=$(<f)', 'x=$(printf %s "$(<f)")'],
]
const USES = [
  ...['echo $((x))', 'echo $((x+1))', 'echo $(( $x ))', 'echo $(( ${x} * 2 ))', '((x>1))', '(( x++ ))', 'echo $[x]'],
  ...['[[ $x -gt 1 ]]', '[[ x -eq 1 ]]', '[[ 1 -le $x ]]', '[[ ! ( $x -ne 1 ) ]]', '[[ -v $x ]]', '[ -v "$x" ]'],
  ...['let x', 'let z=x', 'let "z = x + 1"', 'declare -i z=x', 'declare -i z; z=x', 'echo ${s:x:1}', 'echo ${s:$x:1}'],
  ...['b[x]=1', 'b[$x]=1', 'echo ${b[x]}', 'echo ${b[$x]}', 'for ((i=x;i<1;i++)); do :; done', 'unset "$x"'],
  ...['f() { echo $(($1)); }; f "$x"', 'f() { local z=$1; ((z)); }; f "$x"', 'echo "$((x))"', ': $((z = x))'],
  ...['printf "%s" "$((x))"', 'while ((x)); do break; done', 'if [[ $x -lt 3 ]]; then :; fi', 'z=$((x))'],
]

test('a text from a file that bash evaluates as arithmetic, and so runs, is never taken for a number', t => {
  const folder = tempDir(t)
  const pairs = [
    ...ORIGINS.slice(0, 3).flatMap(origin => USES.map(use => [origin, use])),
    ...ORIGINS.slice(3).flatMap(origin => USES.slice(0, 8).map(use => [origin, use])),
  ]
  const commands = pairs.map(([origin, use]) => `${origin}; ${use}`)
  const script = commands
    .map((command, at) => `printf 'a[$(>ran${at})0]' >f; (\ns=abc\n${command}\n) </dev/null >/dev/null 2>&1\n`)
    .join('')
  execFileSync('bash', ['--norc', '--noprofile'], {
    cwd: folder,
    env: {},
    input: `PATH=/nowhere\n${script}exit 0\n`,
    stdio: ['pipe', 'ignore', 'ignore'],
    timeout: 120_000,
  })
  const run = commands.filter((_, at) => existsSync(join(folder, `ran${at}`)))
  assert.ok(run.length > commands.length / 2, `bash ran ${run.length} of ${commands.length}`)
  assert.equal(readFileSync(join(folder, 'f'), 'utf8'), `a[$(>ran${commands.length - 1})0]`)
  assert.deepEqual(run.filter(passes), [])
})

test('numbers that a program counts, and variables of the script itself, are everyday in arithmetic', () => {
  const asked = [
    '[[ $(wc -l < a) -gt 10 ]] && echo long',
    'start=$(date +%s); npm test; echo $(( $(date +%s) - start ))',
    'i=0; while [ $i -lt 5 ]; do i=$((i+1)); echo $i; done',
    'for ((i=0;i<10;i++)); do echo $i; done',
    'n=$(ls | wc -l); echo $((n/2))',
    'n=$(grep -c word src/a.ts); (( n > 3 )) && echo many',
    'a=(1 2 3); echo ${#a[@]} ${a[0]} ${a[@]:1:2}',
    '[[ ${#x} -gt 3 ]]',
    '[[ $? -eq 0 ]] && echo ok',
    'for i in $(seq 1 5); do echo $((i*2)); done',
    's=$(du -sk src | cut -f1); echo $((s/1024))',
    'echo $((RANDOM % 10))',
  ].filter(command => !passes(command))
  assert.deepEqual(asked, [])
})

test('a reference, and a name that is known only when it runs, set no variable that steers programs', () => {
  const passing = [
    'declare -n p=PATH; p=/tmp/x; ls',
    'declare -n p; p=PATH; p=/x; ls',
    'declare -n p=$x; p=/tmp/x; ls',
    'typeset -n p=LD_PRELOAD',
    'f() { local -n p=$1; p=/tmp; }; f PATH',
    'read "$x" < f',
    'printf -v "$x" %s /tmp',
    'mapfile -t "$x" < f',
    'make LD_PRELOAD=./x.so',
    'make NODE_OPTIONS=--require=./x.js',
    'make CFLAGS=-fplugin=./x.so',
    'make GIT_SSH_COMMAND=./x',
  ].filter(passes)
  assert.deepEqual(passing, [])
  assert.ok(passes('declare -n r=count; r=3; echo $r'))
})
