import { resolve } from 'node:path'
import { isInside } from '../../base/is-inside.ts'
import type { ProgramCall, ProgramRules } from '../classify/call.ts'
import { type Fence, locatePath } from '../paths/fence.ts'
import { type Arg, findFlags, findOperands, isFlag } from '../shell/args.ts'
import { named } from './rule-builders.ts'
import { judgeStep } from './step-names.ts'

const VALUED = [
  '-f',
  '--file',
  '-p',
  '--publish',
  '-e',
  '--env',
  '-v',
  '--volume',
  '--name',
  '-w',
  '--workdir',
  '-u',
  '--user',
  '--network',
  '--entrypoint',
  '-t',
  '--tag',
  '--env-file',
  '--mount',
  '-H',
  '--host',
  '-c',
  '--context',
  '--project-name',
  '--profile',
  '--platform',
  '--build-arg',
  '--target',
  '-l',
  '--label',
  '--add-host',
  '--cpus',
  '-m',
  '--memory',
  '--log-driver',
  '--restart',
  '-n',
  '--tail',
  '--since',
  '--format',
  '--filter',
  '--log-level',
  '--config',
  '--cap-add',
  '--device',
  '--ipc',
  '--pid',
  '--security-opt',
  '--gpus',
  '--progress',
  '--scale',
  '-h',
  '--hostname',
  '--ulimit',
  '--shm-size',
  '--secret',
  '--ssh',
]

/** Flags that give a container access to the machine. */
const ESCAPES =
  /^(--privileged|--pid=host|--ipc=host|--net=host|--network=host|--userns=host|--uts=host|--cap-add.*|--device.*|--security-opt.*|--cgroupns=host)$/

/** Folders of the machine that a container must not get. */
const MOUNTS =
  /^(\/|\/(etc|root|home|var|usr|boot|dev|proc|sys|run|Users)(\/.*)?|~.*|\/var\/run\/docker\.sock|.*docker\.sock)$/

/** Containers: MEDIUM for reading and running, HIGH for removing, pushing, or giving access to the machine. */
export const CONTAINERS: ProgramRules = {
  ...named('docker podman buildah finch', docker),
  ...named('docker-compose podman-compose', call => compose(call, call.args)),
  ...named('skopeo crane oras cosign regctl dive trivy grype syft', call => {
    const sends = call.args.some(arg =>
      /^(copy|push|delete|sync|append|mutate|attach|sign|login|tag|cp)$/.test(arg.value),
    )
    const more = call.args.find(arg =>
      /^(-o|--output.*|--file.*|plugin|-f|--report|--config|-c|export|pull|save)$|^(-o|--output|--file|--config)=/.test(
        arg.value,
      ),
    )
    if (more) call.say('container.other', 'MEDIUM', `${more.text} writes a file, or adds a plugin`, more)
    call.say(sends ? 'container.push' : 'container.read', sends ? 'HIGH' : 'MEDIUM', `${call.name} works on images`)
  }),
  ...named(
    'lxc lxd incus multipass limactl colima orb virsh VBoxManage vboxmanage qemu-system-x86_64 utmctl prlctl vmrun',
    call => {
      const ends = call.args.some(arg =>
        /^(delete|destroy|undefine|stop|unregistervm|purge|reset|kill|prune)$/.test(arg.value),
      )
      call.say(
        ends ? 'container.destroy' : 'container.other',
        ends ? 'HIGH' : 'MEDIUM',
        `${call.name} works on machines`,
      )
    },
  ),
}

function docker(call: ProgramCall): undefined {
  const operands = findOperands(call.args, VALUED)
  const [verb, second] = operands
  if (verb === undefined) return call.say('container.read', 'MEDIUM', call.name)
  if (!verb.known) return call.say('container.other', 'HIGH', 'which command it is, is known only when it runs', verb)
  if (verb.value === 'compose') {
    const before = call.args.slice(0, call.args.indexOf(verb))
    const other = before.find(({ known, value }) => !known || /^(-H|--host|-c|--context)/.test(value))
    if (other) return call.say('container.other', 'HIGH', `${other.text} is another machine`, other)
    return compose(call, call.args.slice(call.args.indexOf(verb) + 1))
  }
  for (const arg of call.args) if (!isFlag(arg)) call.secret({ ...arg, value: arg.value.split(':')[0] ?? '' })
  const grouped =
    /^(container|image|volume|network|system|builder|buildx|context|plugin|swarm|service|stack|node|secret|config|manifest|machine|pod|trust|model|scout|sbom)$/.test(
      verb.value,
    )
  const line = grouped ? `${verb.value} ${second?.value ?? ''}` : verb.value
  if (
    /^(rm|rmi|kill|stop|push|login|logout|swarm|plugin|secret|config|cp|commit|save|export|import|load|update|rename|trust|pause|checkpoint)( |$)|(rm|prune|remove|kill|stop|push|leave|reset|down|rollback|disconnect)$/.test(
      line,
    )
  )
    return call.say(
      /push|login|save|export/.test(line) ? 'container.push' : 'container.destroy',
      'HIGH',
      `${call.name} ${line} removes, stops, sends or copies`,
      verb,
    )
  judgeRights(call)
  const other = call.args.find(
    arg => /^(-H|--host|-c|--context)(=|$)/.test(arg.value) && call.args.indexOf(arg) < call.args.indexOf(verb),
  )
  if (other) call.say('container.other', 'MEDIUM', `${other.text} is another machine`, other)
  if (
    /^(ps|images|logs|inspect|version|info|stats|top|port|events|history|diff|search|wait|container (ls|list|inspect|logs|stats|top)|image (ls|list|inspect|history)|volume (ls|inspect)|network (ls|inspect)|system (df|info)|context (ls|show|inspect)|manifest inspect|buildx (ls|du|inspect))$/.test(
      line,
    )
  )
    return call.say(
      /inspect$/.test(line) && showsEnvironment(call) ? 'env.print' : 'container.read',
      'MEDIUM',
      `${call.name} looks at containers`,
      verb,
    )
  if (/^(run|exec|create|container (run|exec|create))$/.test(line))
    return judgeRun(call, (grouped ? second : undefined) ?? verb)
  if (line === 'buildx bake') for (const target of operands.slice(2)) judgeStep(call, target)
  if (/^(build|image build|buildx (build|bake)|pull|start|restart|tag|attach|unpause)$/.test(line))
    return call.say(
      /build/.test(line) && isOwnBuild(call)
        ? 'script.run'
        : /^(build|image build|buildx)/.test(line)
          ? 'container.build'
          : 'container.other',
      'MEDIUM',
      `${call.name} ${line}`,
      verb,
    )
  call.say('container.other', 'MEDIUM', `${call.name} ${line}`, verb)
}

/** `docker inspect` shows the variables of a container, unless a format says what else is wanted. */
function showsEnvironment(call: ProgramCall): boolean {
  if (call.args.some(({ value }) => /^(volume|network|context|buildx|manifest)$/.test(value))) return false
  const format = findFlags(call.args, ['-f', '--format'], 'f').at(-1)?.value
  return !format?.known || /env|json|\{\{-?\s*\.(Config)?\s*-?\}\}|range|index/i.test(format.value)
}

/** `docker build .` runs the project's own file; with another context, or flags that pass in more, it is not just that. */
function isOwnBuild(call: ProgramCall): boolean {
  return call.args.every(
    arg =>
      !/^([/~]|.*\.\.(\/|$)|https?:|git@|.*=([/~]|\.\.))|^(-o|--(set|push|provenance|attest|sbom|output|secret|ssh|network|allow|security-opt|cache-to|build-context|add-host|iidfile|metadata-file))/.test(
        arg.value,
      ) && arg.known,
  )
}

function judgeRights(call: ProgramCall): undefined {
  for (const [index, arg] of call.args.entries()) {
    const before = call.args[index - 1]?.value ?? ''
    if (
      ESCAPES.test(arg.value) ||
      (/^--(pid|ipc|net|network|userns|uts|cgroupns)$/.test(before) && arg.value === 'host')
    )
      call.say('container.escape', 'HIGH', `${arg.text} hands the machine to the container`, arg)
    const mount = /^(-v|--volume|--mount)$/.test(before)
      ? arg.value
      : /^(?:-v|--volume=|--mount=)(.+)$/.exec(arg.value)?.[1]
    if (mount === undefined || isFlagOnly(arg, before)) continue
    const source = /(?:^|,)(?:source|src)=([^,]+)/.exec(mount)?.[1] ?? mount.split(':')[0] ?? ''
    const climbs = /(^|\/)\.\.(\/|$)/.test(source)
    const own = isInside(source, call.fence.boundary) || (!climbs && /^(\.|\$PWD|[\w-]+$)/.test(source))
    if ((MOUNTS.test(source) || climbs) && !own)
      call.say('container.escape', 'HIGH', `${arg.text} gives the container a folder of the machine`, arg)
    call.secret({ ...arg, value: source })
  }
}

function isFlagOnly(arg: Arg, before: string): boolean {
  return isFlag(arg) && !/^(-v|--volume|--mount)/.test(arg.value) && !/^(-v|--volume|--mount)$/.test(before)
}

/** A command in a container is judged like any other, and is never LOW. */
function judgeRun(call: ProgramCall, verb: Arg): undefined {
  // Here `-t` is a terminal and no tag.
  const valued = VALUED.filter(flag => flag !== '-t')
  const [image] = findOperands(call.args.slice(call.args.indexOf(verb) + 1), valued)
  // Flags after the image belong to the command that runs in it.
  const inner = image ? call.args.slice(call.args.indexOf(image) + 1) : []
  const own = image ? call.args.slice(call.args.indexOf(verb) + 1, call.args.indexOf(image)) : call.args
  const looks =
    verb.value === 'exec' &&
    call.args.every(arg => arg.known) &&
    own.every(arg => /^(-[it]+|--interactive|--tty)$/.test(arg.value)) &&
    LOOKS.test(inner[0]?.value ?? '')
  const isPlain = verb.value === 'run' && image !== undefined && isPlainRun(call, own, image)
  call.say(
    looks ? 'container.read' : isPlain ? 'container.compose' : 'container.run',
    'MEDIUM',
    `${call.name} runs something in a container`,
    verb,
  )
  if (inner.length > 0) call.run(inner)
}

/** `docker run --rm -v "$PWD":/app -w /app node:20 …`: an official image that gets the project and nothing else, and leaves nothing behind. */
function isPlainRun({ scope, fence }: ProgramCall, flags: readonly Arg[], image: Arg): boolean {
  const line = flags.map(({ value }) => value).join(' ')
  const mounts = [...line.matchAll(/(?:-v|--volume)[ =]([^: ]+):/g)].map(([, source = '']) => source)
  return (
    (OFFICIAL.test(image.value) || isOwnImage(image, fence)) &&
    flags.every(arg => arg.known) &&
    scope.cwd !== undefined &&
    mounts.every(source => isInside(resolve(scope.cwd ?? '/', source), fence.boundary)) &&
    /(^| )--rm( |$)/.test(line) &&
    /^((--rm|-i|-t|-d|-it|-ti|--init|--pull=missing|--name[ =][\w-]+|(-p|--publish)[ =](127\.0\.0\.1:)?\d+:\d+|(-e|--env)[ =](NODE_ENV|PORT|CI|DEBUG|LOG_LEVEL)=[\w.*:-]+|(-w|--workdir)[ =]\/[\w/-]+|(-v|--volume)[ =](\.|\/[\w./-]+):\/[\w/-]+(:ro)?)( |$))+$/.test(
      line,
    )
  )
}

/** An image that is called like the project, which nobody but the project builds. */
function isOwnImage({ known, value }: Arg, { boundary }: Fence): boolean {
  const [, name] = /^([\w.-]+?)(?:-[\w.-]+)?(?::(?:dev|test|local|latest|debug|build|ci)[\w.-]*)?$/.exec(value) ?? []
  return (
    known &&
    name !== undefined &&
    name.length > 2 &&
    name === boundary.slice(boundary.lastIndexOf('/') + 1) &&
    !OFFICIAL.test(name)
  )
}

const OFFICIAL =
  /^(node|python|golang|rust|ruby|php|openjdk|eclipse-temurin|gradle|maven|alpine|debian|ubuntu|busybox|gcc|elixir|erlang|haskell|perl|swift|dart|composer|hello-world|golangci\/golangci-lint|hadolint\/hadolint|koalaman\/shellcheck|mvdan\/shfmt|rhysd\/actionlint|mcr\.microsoft\.com\/(playwright|dotnet\/sdk))(:[\w.-]+)?$/

/** Programs that only look, in whichever container. */
const LOOKS = /^(ls|cat|head|tail|grep|wc|ps|df|du|pwd|date|id|whoami|uname|stat)$/

/** Everyday verbs of compose: they start and stop what the project's own file says. */
const COMPOSE_VERBS = /^(up|down|stop|start|restart|create|pull|build|exec|run|pause|unpause|watch|wait)$/

function compose(call: ProgramCall, args: readonly Arg[]): undefined {
  const operands = findOperands(args, VALUED)
  const [verb] = operands
  const volumes = args.find(arg => /^(-v|--volumes|--rmi.*)$/.test(arg.value))
  if (verb === undefined) return call.say('container.read', 'MEDIUM', 'compose')
  if (/^(rm|kill|push)$/.test(verb.value) || (verb.value === 'down' && volumes))
    return call.say('container.destroy', 'HIGH', `compose ${verb.value} removes things`, volumes ?? verb)
  const short = args.some(arg => /^(-q|--quiet|--services|--images|--volumes|--profiles|--hash)$/.test(arg.value))
  if (/^(ps|logs|images|ls|top|port|version|events)$/.test(verb.value) || (verb.value === 'config' && short))
    return call.say('container.read', 'MEDIUM', 'compose looks at containers', verb)
  judgeComposeFiles(call, args.slice(0, args.indexOf(verb)))
  if (verb.value === 'build')
    return call.say(isOwnBuild(call) ? 'script.run' : 'container.build', 'MEDIUM', 'compose build', verb)
  if (!COMPOSE_VERBS.test(verb.value)) return call.say('container.other', 'MEDIUM', `compose ${verb.text}`, verb)
  call.say('container.compose', 'MEDIUM', `compose ${verb.text}`, verb)
  if (!/^(exec|run)$/.test(verb.value)) return
  judgeRights(call)
  const [, service] = operands
  const inner = service ? args.slice(args.indexOf(service) + 1) : []
  const { scope } = call
  const before = scope.contained
  scope.contained = verb.value === 'exec' && args.indexOf(verb) === 0 && call.fence.look !== undefined
  if (inner.length > 0) call.run(inner)
  scope.contained = before === true
}

/** The files that compose reads must be the project's own and give no container the machine. */
function judgeComposeFiles(call: ProgramCall, head: readonly Arg[]): undefined {
  const other = head.find(
    ({ known, value }) =>
      !known || /^(-p|--project-name|--project-directory|--env-file|-H|--host|-c|--context)(=|$)/.test(value),
  )
  if (other) call.say('container.other', 'MEDIUM', `${other.text} is another project or another machine`, other)
  const files = findFlags(head, ['-f', '--file'], 'fpHc').flatMap(({ value }) => value ?? [])
  for (const file of files)
    if (/^(-$|[/~]|[a-z]+:)|(^|\/)\.\.(\/|$)|\b(prod|production|staging|live)\b/.test(file.value))
      call.say('container.other', 'MEDIUM', `${file.text} is no file for work on the project`, file)
  const shared = findFlags(head, ['--profile']).find(
    ({ value }) => !value?.known || /prod|live|stag/i.test(value.value),
  )
  if (shared)
    call.say('container.other', 'MEDIUM', `${shared.arg.text} is no profile for work on the project`, shared.arg)
  const { scope, fence } = call
  const names = files.length > 0 ? files.map(({ value }) => value) : COMPOSE_FILES
  for (const name of names) {
    const place = locatePath(name, scope.cwd ?? fence.boundary, fence)
    const found = place.where === 'inside' ? fence.look?.(place.path) : undefined
    const [grant] = (found?.is === 'file' && GRANTS.exec(found.bytes.toString('utf8'))) || []
    if (grant !== undefined)
      call.say('container.escape', 'HIGH', `${name} gives a container the machine: ${grant.trim()}`)
  }
}

const COMPOSE_FILES = ['compose', 'docker-compose'].flatMap(name =>
  ['', '.override'].flatMap(more => ['.yml', '.yaml'].map(ending => `${name}${more}${ending}`)),
)

/** Lines of a compose file with which a container reaches the machine, or a folder of it outside of the project. */
const GRANTS =
  /^[ \t-]*(privileged:\s*["']?(true|yes|on)|(pid|ipc|uts|network_mode|userns_mode|cgroup):\s*["']?host|(cap_add|devices|security_opt|device_cgroup_rules|extends|include):|.*docker\.sock|-\s*["']?(\/(?!dev\/null)|~|\$\{?HOME|\.\.\/)[^:\n]*:\/|(source|device|file):\s*["']?(\/|~|\$\{?HOME|\.\.\/)).*$/im
