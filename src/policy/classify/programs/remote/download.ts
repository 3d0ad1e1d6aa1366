import type { Call } from '../../call.ts'
import { type Arg, isFlag } from '../../words/arg.ts'
import { findFlag, findFlags, operandsOf } from '../../words/flags.ts'

/** curl and its like: MEDIUM to fetch and print, HIGH to send, to write files, or to go by other ways. */
export function curl(call: Call): undefined {
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
  ).find(one => !(one.value?.known && /^(-|\/dev\/(null|stdout|stderr))$/.test(one.value.value)))
  if (output)
    call.say('net.download', 'HIGH', `${output.arg.text} writes what comes from the network to a file`, output.arg)
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
    args,
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
  if (data) judgeData(call, data.arg, data.value)
  const method = findFlag(args, ['-X', '--request'], shorts)
  const verb =
    method?.value?.value.toUpperCase() ??
    operandsOf(args)
      .find(arg => /^(POST|PUT|PATCH|DELETE)$/i.test(arg.value))
      ?.value.toUpperCase()
  if (verb && !/^(GET|HEAD|OPTIONS)$/.test(verb))
    call.say(
      'net.change',
      verb === 'DELETE' ? 'HIGH' : 'MEDIUM',
      `${verb} changes something elsewhere`,
      method?.arg ?? call.head,
    )
  const file = args.find(
    arg =>
      /^(file|dict|gopher|smb|ldap|scp|sftp|tftp|telnet):/i.test(arg.value) || /^[\w-]*[=:]?@[^@]*$/.test(arg.value),
  )
  if (file && !isFlag(file)) call.say('net.send', 'HIGH', `${file.text} reads a file for the network`, file)
  const user = findFlag(args, ['-u', '--user', '-b', '--cookie', '--oauth2-bearer'], shorts)
  if (user) call.say('net.login', 'MEDIUM', `${user.arg.text} logs in`, user.arg)
  const item = /^(http|https|httpie|xh|xhs|curlie)$/.test(call.name)
    ? operandsOf(args)
        .slice(1)
        .find(arg => /^[\w.-]+:?=(?!=)|^[\w.-]+@/.test(arg.value))
    : undefined
  if (item) call.say('net.change', 'MEDIUM', `${item.text} is sent`, item)
  reaches(call)
}

function judgeData(call: Call, flag: Arg, value: Arg | undefined): undefined {
  const reads = value === undefined || value.value.startsWith('@') || !value.known
  call.say(reads ? 'net.send' : 'net.change', reads ? 'HIGH' : 'MEDIUM', `${flag.text} sends data`, flag)
}

/** wget and its like: HIGH unless what is fetched is printed or thrown away. */
export function wget(call: Call): undefined {
  const { args } = call
  const shorts = 'OoaeitTwQPUBAR'
  const odd = args.find(arg =>
    /^(--(use-a|post-f|body-f|conf|exec|input-f|load-c|save-c|rejected|warc|output-f|append-o|on-|ca-c|private|cert|hsts-f|proxy|bind|dns|directory-p|local-e|convert|mirror|keep-s|save-h|delete)[a-z-]*|-[a-zA-Z]*[eaiox]|-source|-dump-script|-exec)(=|$)|^-[eaio]./.test(
      arg.value,
    ),
  )
  if (odd) call.say('net.odd', 'HIGH', `${odd.text} makes it send, write or run`, odd)
  const post = args.find(arg => /^--(post-data|body-data|method)/.test(arg.value))
  if (post) call.say('net.change', 'MEDIUM', `${post.text} sends data`, post)
  const out = findFlag(args, ['-O', '--output-document'], shorts)
  const quiet =
    args.some(arg => arg.value === '--spider') ||
    (out?.value?.known && /^(-|\/dev\/(null|stdout))$/.test(out.value.value))
  const prints = /^(lynx|links|w3m|elinks)$/.test(call.name)
  if (!quiet && !prints) call.say('net.download', 'HIGH', `${call.name} writes what comes from the network to a file`)
  reaches(call)
}

/** What every call to the network has in common: where to, and what leaves with it. */
function reaches(call: Call): undefined {
  call.say('net.get', 'MEDIUM', `${call.name} goes to the network`)
  sends(call)
  for (const arg of call.args) call.secret({ ...arg, value: arg.value.replace(/^.*?[@=<](?=[./~\w])/, '') })
}

/** What leaves with a call to the network: secrets, what commands print, what it is fed. */
export function sends(call: Call): undefined {
  for (const arg of call.args) {
    const metadata = METADATA.exec(arg.value)
    if (metadata) call.say('net.metadata', 'HIGH', `${metadata[0]} hands out the credentials of the machine`, arg)
    call.secret(arg)
    if (arg.substituted) call.say('net.send', 'HIGH', `${arg.text} sends what a command prints`, arg)
    else if (!arg.known) call.say('arg.unknown', 'MEDIUM', `${arg.text} is known only when it runs`, arg)
  }
  const { file, piped } = call.feed
  if (file) call.say('net.send', 'HIGH', `${file.text} is fed to ${call.name}`, file)
  else if (piped) call.say('net.fed', 'MEDIUM', `bytes of another program reach ${call.name}`)
}

/** Addresses at which clouds give a machine its keys, in their usual spellings. */
const METADATA =
  /\b(169\.254\.\d+\.\d+|100\.100\.100\.200|metadata\.(google|azure|aws)[\w.]*|2852039166|0xa9fea9fe|0251\.0376\.\d+\.\d+)\b|fd00:ec2|instance-data\b/i
