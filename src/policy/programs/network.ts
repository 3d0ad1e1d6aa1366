import { ACTS, isOwnResource, isOwnServer, judgeNetworkWord, showsSettings } from '../classify/address.ts'
import type { ProgramCall, ProgramRules } from '../classify/call.ts'
import { findSpelled, staysInSandbox } from '../classify/judge-file.ts'
import { type Arg, findFlag, findFlags, findOperands, HOLE, isFlag } from '../shell/args.ts'
import { always, named } from './rule-builders.ts'

/** curl and the like: MEDIUM for fetching and printing, HIGH for sending, writing files and unusual routes. */
function curl(call: ProgramCall): undefined {
  const shorts = 'AbcCdDeEFhHKmoPQrTtuUwxXyYz'
  const { args } = call
  const output = findFlags(
    args,
    [
      '-o',
      '--output',
      '-O',
      '--remote-name',
      '--remote-name-all',
      '-J',
      '--output-dir',
      '-D',
      '--dump-header',
      '--trace',
      '--trace-ascii',
      '-c',
      '--cookie-jar',
      '--stderr',
      '--libcurl',
      '--hsts',
      '--etag-save',
      '--alt-svc',
      '--download',
    ],
    shorts,
  ).find(flag => !(flag.value?.known && /^(-|\/dev\/(null|stdout|stderr))$/.test(flag.value.value)))
  if (output) {
    const isData = /^-(o|-output)/.test(output.arg.value) && isDataFile(call, output.value)
    const text = `${output.arg.text} writes what comes from the network to a file`
    call[isData ? 'hold' : 'say']('net.download', 'HIGH', text, output.arg)
  }
  const config = findFlag(
    args,
    [
      '-K',
      '--config',
      '--engine',
      '--proto-redir',
      '--unix-socket',
      '--abstract-unix-socket',
      '-x',
      '--proxy',
      '--preproxy',
      '--resolve',
      '--connect-to',
      '--doh-url',
      '--netrc-file',
      '-n',
      '--netrc',
      '-E',
      '--cert',
      '--key',
    ],
    shorts,
  )
  if (config) call.say('net.odd', 'HIGH', `${config.arg.text} changes where curl goes or with which keys`, config.arg)
  const upload = findFlag(
    // As it is, `--data` is no beginning of `--data-binary`.
    args.filter(({ value }) => value !== '--data' && value !== '--form'),
    ['-T', '--upload-file', '-F', '--form', '--form-string', '--data-binary', '--data-urlencode'],
    shorts,
  )
  if (upload) call.say('net.send', 'HIGH', `${upload.arg.text} sends data`, upload.arg)
  const format = findFlag(args, ['-w', '--write-out'], shorts)
  if (format?.value && /%output\{|^@/.test(format.value.value))
    call.say('net.download', 'HIGH', `${format.arg.text} writes or reads a file`, format.arg)
  const commands = findFlag(args, ['-Q', '--quote', '--prequote', '--postquote', '-P', '--ftp-port'], shorts)
  if (commands) call.say('net.change', 'HIGH', `${commands.arg.text} gives commands to a server`, commands.arg)
  const data = findFlag(args, ['-d', '--data', '--data-raw', '--data-ascii', '--json', '--url-query'], shorts)
  // A server that redirects would lead elsewhere.
  const follows = findFlag(args, ['-L', '--location', '--location-trusted'], shorts)
  const method = findFlag(args, ['-X', '--request'], shorts)
  const verb =
    method?.value?.value.toUpperCase() ??
    findOperands(args)
      .find(arg => /^(POST|PUT|PATCH|DELETE)$/i.test(arg.value))
      ?.value.toUpperCase()
  const isHere = !output && !config && !upload && !follows && changesOwnServer(call, verb === 'DELETE')
  const change = isHere ? call.settle : call.say
  if (data) judgeData(call, data.arg, data.value, isHere)
  if (verb && !/^(GET|HEAD|OPTIONS)$/.test(verb))
    change(
      'net.change',
      verb === 'DELETE' ? 'HIGH' : 'MEDIUM',
      `${verb} changes something elsewhere`,
      method?.arg ?? call.head,
    )
  const file = args.find(
    arg =>
      /^(file|dict|gopher|smb|ldap|scp|sftp|tftp|telnet):/i.test(arg.value) || /^[\w-]*[=:]?@[^@]*$/.test(arg.value),
  )
  if (file && !isFlag(file) && !(isHere && sendsOwn(call, file)))
    call.say('net.send', 'HIGH', `${file.text} reads a file for the network`, file)
  const user = findFlag(args, ['-u', '--user', '-b', '--cookie', '--oauth2-bearer'], shorts)
  if (user) call.say('net.login', 'MEDIUM', `${user.arg.text} logs in`, user.arg)
  const item = /^(http|https|httpie|xh|xhs|curlie)$/.test(call.name)
    ? findOperands(args)
        .slice(1)
        .find(arg => /^[\w.-]+:?=(?!=)|^[\w.-]+@/.test(arg.value))
    : undefined
  if (item) change('net.change', 'MEDIUM', `${item.text} is sent`, item)
  judgeNetworkCall(call)
}

/** Whether a request goes to a server of the project. */
function asksServer({ name, args }: ProgramCall, isServer: (address: string) => boolean = isOwnServer): boolean {
  const addresses = findOperands(args, CURL_VALUED)
  const isPlain = args.filter(isFlag).every(({ value }) => OWN_FLAGS.test(value))
  const isThere = addresses.length > 0 && addresses.every(({ value, known }) => known && isServer(value))
  return name === 'curl' && isPlain && isThere
}

/** Whether such a request changes what an application of the project keeps: by its address, its headers and the data that it sends. */
function changesOwnServer(call: ProgramCall, deletes: boolean): boolean {
  const { args } = call
  if (!asksServer(call) || !findOperands(args, CURL_VALUED).every(({ value }) => isOwnResource(value, deletes)))
    return false
  return args.every(({ value }, at) => {
    const flag = args[at - 1]?.value ?? ''
    if (/^(-H|--header)$/.test(flag)) return APP_HEADER.test(value)
    return !/^(-d|--data(-raw|-ascii)?|--json)$/.test(flag) || !ENGINE_DATA.test(value)
  })
}

const LOOPBACK = /^(https?:\/\/)?(localhost|127\.0\.0\.1|\[::1\])(:\d+)?([/?][\w./?=&%+,:-]*)?$/i
/** Headers that applications read. Others may name what an engine does (`X-Amz-Target`). */
const APP_HEADER =
  /^(content-type|accept(-language|-encoding)?|authorization|origin|referer|user-agent|idempotency-key|if-(none-)?match|x-((request|correlation|trace|user|tenant|session)-id|csrf-token|requested-with|api-key|forwarded-for|hub-signature(-256)?|github-event|stripe-signature)|stripe-signature)\s*:/i
/** Statements and commands for an engine, in data. */
const ENGINE_DATA =
  /\b(drop|truncate|alter|grant|revoke|shutdown|destroy|undeploy|purge|wipe|delete\s+from|remove\s+(table|database|index|user|namespace)|insert\s+into|update\s+\w+\s+set|run_sql|drop_all|script|exec(ute)?|eval)\b|drop_\w+/i

const CURL_VALUED =
  '-o -X --request -H --header -d --data --data-raw --data-ascii --json -w --write-out -m --max-time --connect-timeout'.split(
    ' ',
  )

/** Flags with which the request goes where the address says. */
const OWN_FLAGS =
  /^(-[sSifvkI]+|-s?S?o|-[XHdwm]|-X[A-Z]+|-s?X|--(request|header|data|data-raw|data-ascii|json|write-out|max-time|connect-timeout)|--(silent|show-error|include|fail|fail-with-body|verbose|compressed|head))$/

/** Whether a file that is fetched stays in a sandbox and is by its name nothing that any program runs or is set up by. */
function isDataFile(call: ProgramCall, file: Arg | undefined): boolean {
  if (file === undefined) return false
  const name = /^https?:/.test(file.value) ? { ...file, value: file.value.replace(/^.*\//, '') } : file
  return DATA_FILE.test(name.value) && staysInSandbox(name, call)
}

/** Pictures, fonts and tables; other data only where its name says that it is that, or in a folder for it. */
const DATA_FILE =
  /^(\/tmp\/)?([\w@-][\w.@-]*\/)*[\w@-][\w.@-]*\.(csv|tsv|pdf|png|jpe?g|gif|webp|ico|woff2?|ttf|geojson|parquet|ndjson|jsonl)$|^\/tmp\/([\w-]+\/)*[\w-]+\.(json|txt)$|^([\w-]+\/)*(data|fixtures|testdata|samples|schemas)\/([\w-]+\/)*[\w-]+\.(json|txt)$|^([\w-]+\/)*([\w-]+[-_.])?(spec|schema|openapi|swagger|data|response|sample|example)\.(json|txt)$/i

/** `@a.json` of the project, or `@-` for what a pipe of readers prints: each of them is judged by the files that it reads. */
function sendsOwn(call: ProgramCall, { known, value }: Arg): boolean {
  if (!known || !value.startsWith('@')) return false
  const file = { ...call.head, value: value.slice(1), known: true }
  const spelled = /^@\/tmp\/[\w-]+\.(json|txt|csv|xml|ya?ml)$/.test(value) ? findSpelled(file, call) : undefined
  // The text is in the command itself.
  if (spelled !== undefined) return !ENGINE_DATA.test(spelled)
  if (value !== '@-') {
    call.path({ ...call.head, value: value.slice(1), known: true }, 'read')
    return /^@\w[\w./-]*\.(json|ya?ml|csv|xml|txt|graphql|ndjson)$/.test(value) && !value.includes('..')
  }
  const programs = call.feed.upstream?.map(({ words }) => words[0]?.value ?? '') ?? []
  return programs.length > 0
    ? programs.every(name => /^(jq|cat|echo|printf|head|tail|sed|grep)$/.test(name))
    : call.feed.text?.known === true
}

function judgeData(call: ProgramCall, flag: Arg, value: Arg | undefined, isHere: boolean): undefined {
  const isOwn = isHere && value !== undefined && sendsOwn(call, value)
  const reads = value === undefined || (value.value.startsWith('@') && !isOwn) || !value.known
  call[isHere && !reads ? 'settle' : 'say'](
    reads ? 'net.send' : 'net.change',
    reads ? 'HIGH' : 'MEDIUM',
    `${flag.text} sends data`,
    flag,
  )
}

/** A folder of the project, for this machine alone. */
const SERVES_HERE =
  /^(?=.*(^| )(-b|--bind|-a)[ =]?(localhost|127\.0\.0\.1)( |$))(?=.*(^| )((-d|--directory)[ =])?(\.\/)?[A-Za-z][\w-]*(\/[\w-]+)*\/?( |$))((\d+|(-b|--bind|-a)[ =]?(localhost|127\.0\.0\.1)|(-p|--port)[ =]?\d+|((-d|--directory)[ =])?(\.\/)?[A-Za-z][\w-]*(\/[\w-]+)*\/?)( |$))+$/

/** The words of a server for one folder that a build makes, whose files are meant to be seen. */
const SERVES_BUILD =
  /^((-[sSc]|-c-1|(-p|-l|--port|--listen)[ =]?\d+|(-b|--bind|-a)[ =]?(localhost|127\.0\.0\.1)|\d+) )*((-d|--directory)[ =])?(\.\/)?(dist|build|out|coverage|htmlcov|storybook-static|playwright-report|_site|docs\/_build|site)(\/[\w-][\w.-]*)*\/?( (-[sSc]|-c-1|(-p|-l|--port|--listen)[ =]?\d+|(-b|--bind|-a)[ =]?(localhost|127\.0\.0\.1)|\d+))*$/

/** wget and the like: HIGH unless the download is printed or discarded. */
function wget(call: ProgramCall): undefined {
  const { args } = call
  const shorts = 'OoaeitTwQPUBAR'
  const odd = args.find(arg =>
    /^(--(us|post-f|body-f|conf|exec|input-f|load-c|save-c|rejected|warc|output-f|append-o|on-|ca-c|private|cert|hsts-f|proxy|bind|dns|directory-p|local-e|convert|mirror|keep-s|save-h|delete)[a-z-]*|-[a-zA-Z]*[eaiox]|-source|-dump-script|-exec)(=|$)|^-[eaio]./.test(
      arg.value,
    ),
  )
  if (odd) call.say('net.odd', 'HIGH', `${odd.text} makes it send, write or run`, odd)
  const post = findFlag(args, ['--post-data', '--post-file', '--body-data', '--method'])?.arg
  if (post) call.say('net.change', 'MEDIUM', `${post.text} sends data`, post)
  const out = findFlag(args, ['-O', '--output-document'], shorts)
  const quiet =
    args.some(arg => arg.value === '--spider') ||
    (out?.value?.known && /^(-|\/dev\/(null|stdout))$/.test(out.value.value))
  const prints = /^(lynx|links|w3m|elinks)$/.test(call.name)
  const isData = isDataFile(call, out?.value ?? (args.some(isFlag) ? undefined : args[0]))
  if (!quiet && !prints)
    call[isData ? 'hold' : 'say']('net.download', 'HIGH', `${call.name} writes what comes from the network to a file`)
  judgeNetworkCall(call)
}

/** Judges what every network call has in common: the address, and the data that leaves with it. */
function judgeNetworkCall(call: ProgramCall): undefined {
  const isOwn = asksServer(call)
  const isNear = !isOwn && asksServer(call, value => LOOPBACK.test(value))
  call[isOwn ? 'hold' : 'say'](isNear ? 'net.look' : 'net.get', 'MEDIUM', `${call.name} goes to the network`)
  const shown = call.args.find(({ value }) => showsSettings(value))
  if (shown) call.say('secret.maybe', 'MEDIUM', `${shown.text} shows how a server is set up, passwords too`, shown)
  const acts = call.args.find(({ value }) => /^[\w.:[\]/@-]*[./:]/.test(value) && ACTS.test(value))
  if (acts) call.say('net.change', 'MEDIUM', `${acts.text} sounds as if it changed something`, acts)
  judgeSentData(call)
  for (const arg of call.args) call.secret({ ...arg, value: arg.value.replace(/^.*?[@=<](?=[./~\w])/, '') })
}

/** Judges the data that leaves with a network call: secrets, output of commands, and its input. */
function judgeSentData(call: ProgramCall): undefined {
  for (const arg of call.args) {
    judgeAddressWord(call, arg)
    call.secret(arg)
    if (arg.substituted) call.say('net.send', 'HIGH', `${arg.text} sends what a command prints`, arg)
    else if (!arg.known && !isHeaderForThisMachine(arg, call)) call.unknown(arg)
  }
  const { file, piped } = call.feed
  if (file) call.say('net.send', 'HIGH', `${file.text} is fed to ${call.name}`, file)
  else if (piped && !asksServer(call)) call.say('net.fed', 'MEDIUM', `bytes of another program reach ${call.name}`)
}

/** A header with a variable for a server on this machine. The agent's own code can read the variable without it. */
export function isHeaderForThisMachine(arg: Arg, call: ProgramCall): boolean {
  return /^"[\w-]+: [^"`(]*"$/.test(arg.text) && asksServer(call, value => LOOPBACK.test(value))
}

/** Judges the address in a word: the word itself, the value of a flag, or the value after `=`. */
function judgeAddressWord(call: ProgramCall, arg: Arg): undefined {
  const equals = arg.value.indexOf('=')
  const words = isFlag(arg) && equals > 0 ? [arg.value.slice(equals + 1)] : [arg.value]
  for (const word of words) {
    if (word.startsWith('-') || /\s/.test(word)) continue
    const reason = judgeNetworkWord(word.replaceAll(HOLE, '1'))
    if (reason) call.say(reason.code, reason.risk, reason.text, arg)
  }
}

/** Those of the programs below that send nothing away by themselves. */
export const SERVERS_AND_KEYS: ProgramRules = {
  ...named('http-server serve static-server live-server caddy', call => {
    const [top, cwd = ''] = [`${call.fence.boundary}/`, call.scope.cwd]
    const given = call.args.map(({ known, value }) => (known ? value : HOLE)).join(' ')
    const words = cwd.startsWith(top) ? `${given} ${cwd.slice(top.length)}` : given
    const isBuilt = /^(http-server|serve)$/.test(call.name) && SERVES_BUILD.test(words)
    const isHere = SERVES_HERE.test(words) && !/(^|[ /])\.(?=[\w.])|secret|private|cred|cert|key/i.test(words)
    call[isHere ? 'settle' : isBuilt ? 'hold' : 'say'](
      'net.serve',
      'MEDIUM',
      `${call.name} serves files on the network`,
    )
  }),
  ...named(
    'ssh-keygen ssh-add ssh-agent ssh-copy-id ssh-keyscan gpg gpg2 age sops pass keytool minisign gopass keybase',
    call => {
      const looks =
        call.name === 'ssh-keyscan' ||
        call.args.some(arg => /^(--version|-l[vf]*|--list-keys|-k|--verify|-F)$/.test(arg.value))
      call.say('secret.keys', looks ? 'MEDIUM' : 'HIGH', `${call.name} handles keys`)
    },
  ),
}

/** Programs that talk to other machines: MEDIUM for reading, HIGH for sending, writing or opening access. */
export const NETWORK: ProgramRules = {
  ...named('curl curlie xh xhs http https httpie', curl),
  ...named('wget wget2 aria2c axel lynx links w3m elinks', wget),
  ...named('ping ping6 traceroute tracepath mtr dig drill host nslookup whois nmap arping fping dog doggo', call => {
    if (/^(nmap|arping|fping)$/.test(call.name)) call.say('net.scan', 'MEDIUM', `${call.name} looks for other machines`)
    call.say('net.look', 'MEDIUM', `${call.name} asks the network`)
    judgeSentData(call)
    const odd = findFlag(
      call.args,
      ['--script', '-f', '--script-args', '-oN', '-oX', '-oG', '-oA', '--interactive'],
      '',
    )
    if (odd) call.say('flag.unusual', 'HIGH', `${odd.arg.text} makes it run or write`, odd.arg)
    const filled = /^ping6?$/.test(call.name) ? findFlag(call.args, ['-p', '--pattern'], 'cistwWIQMmlFTSp') : undefined
    if (filled) call.say('net.send', 'HIGH', `${filled.arg.text} sends bytes of its own`, filled.arg)
  }),
  ...named('nc ncat netcat nc.openbsd nc.traditional', call => {
    const runs = findFlag(call.args, ['-e', '-c', '--exec', '--sh-exec', '--lua-exec'], 'weicpsXx')
    if (runs) call.say('flag.runs', 'HIGH', `${runs.arg.text} hands a connection to a program`, runs.arg)
    const listens = call.args.some(arg => /^-[a-z]*l|--listen/.test(arg.value))
    if (listens) call.say('net.door', 'HIGH', 'it lets others connect to this machine')
    const looks = call.args.some(arg => /^-[a-z]*z/.test(arg.value))
    if (looks) call.say('net.look', 'MEDIUM', `${call.name} asks whether a port is open`)
    else call.say('net.raw', 'HIGH', `${call.name} opens a raw connection`)
    judgeSentData(call)
  }),
  socat: always('HIGH', 'net.raw', 'joins connections, files and programs'),
  ...named('ssh mosh autossh et sshpass slogin dbclient', ssh),
  ...named(
    'scp sftp ftp lftp tftp ncftp rcp rclone s3cmd s4cmd croc wormhole magic-wormhole ffsend transfer rsync-ssl',
    call => {
      const reads =
        /^(rclone)$/.test(call.name) &&
        /^(ls|lsd|lsl|lsf|size|about|version|listremotes|check)$/.test(call.args[0]?.value ?? '')
      call.say('net.transfer', reads ? 'MEDIUM' : 'HIGH', `${call.name} copies files to or from other machines`)
      for (const arg of call.args) call.secret(arg)
    },
  ),
  ...named(
    'ngrok cloudflared localtunnel lt bore tailscale zerotier-cli frpc chisel inlets telebit tunnelmole serveo',
    always('HIGH', 'net.door', 'opens this machine to others'),
  ),
  ...named('telnet rlogin rsh rexec', always('HIGH', 'net.raw', 'opens a raw connection')),
  ...named(
    'tcpdump tshark wireshark dumpcap ettercap mitmproxy mitmdump hydra sqlmap msfconsole nikto aircrack-ng john hashcat masscan responder',
    always('HIGH', 'net.attack', 'listens to or attacks the network'),
  ),
  ...SERVERS_AND_KEYS,
  ...named(
    'fab ansible ansible-playbook ansible-galaxy ansible-vault cap salt salt-ssh pssh parallel-ssh clush dsh knife chef-client puppet mina capistrano kamal',
    call => {
      const looks =
        call.name === 'ansible-playbook' &&
        call.args.some(arg => /^--(syntax-check|list-(tasks|hosts|tags))$/.test(arg.value))
      call.say(
        looks ? 'infra.read' : 'infra.remote',
        'MEDIUM',
        `${call.name} ${looks ? 'reads playbooks' : 'changes other machines'}`,
      )
      for (const arg of call.args) call.secret(arg)
      if (call.name === 'ansible-vault') call.say('secret.store', 'HIGH', 'it opens a vault')
    },
  ),
}

function ssh(call: ProgramCall): undefined {
  if (call.name === 'sshpass') {
    call.say('net.login', 'MEDIUM', 'sshpass hands over a password')
    const index = call.args.findIndex(arg => /^(ssh|scp|sftp|rsync)$/.test(arg.value))
    if (index >= 0) call.run(call.args.slice(index))
    return
  }
  const option = call.args.find(
    (arg, index) =>
      /proxycommand|localcommand|permitlocal|proxyjump=.*[;`$]|knownhostscommand|include|identityagent|pkcs11provider|proxyusefdpass/i.test(
        arg.value,
      ) || call.args[index - 1]?.value === '-F',
  )
  if (option) call.say('flag.runs', 'HIGH', `${option.text} makes ssh run something here`, option)
  const tunnel = call.args.find(arg => /^-[a-zA-Z46]*[LRDWw]\d*/.test(arg.value))
  if (tunnel) call.say('net.door', 'HIGH', `${tunnel.text} opens a tunnel`, tunnel)
  call.say('net.ssh', 'MEDIUM', 'ssh runs something on another machine')
  if (call.feed.file) call.say('net.send', 'HIGH', 'a file is fed to another machine')
  if (call.feed.piped) call.say('net.send', 'HIGH', 'bytes of another program reach another machine')
  if (call.feed.text) call.shell(call.feed.text)
  const rest = findOperands(call.args, [
    '-o',
    '-i',
    '-p',
    '-l',
    '-F',
    '-L',
    '-R',
    '-D',
    '-W',
    '-J',
    '-b',
    '-c',
    '-e',
    '-m',
    '-O',
    '-Q',
    '-S',
    '-w',
    '-E',
    '-B',
    '-I',
  ]).slice(1)
  const [first] = rest
  if (first) call.shell({ ...first, value: rest.map(arg => arg.value).join(' '), known: rest.every(arg => arg.known) })
}
