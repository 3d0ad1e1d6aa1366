import type { Call, Rules } from '../../call.ts'
import { findFlag, operandsOf } from '../../words/flags.ts'
import { always, named } from '../common/build.ts'
import { curl, sends, wget } from './download.ts'

/** Programs that talk to other machines: MEDIUM to read, HIGH to send, to write or to open a door. */
export const NETWORK: Rules = {
  ...named('curl curlie xh xhs http https httpie', curl),
  ...named('wget wget2 aria2c axel lynx links w3m elinks', wget),
  ...named('ping ping6 traceroute tracepath mtr dig drill host nslookup whois nmap arping fping dog doggo', call => {
    call.say('net.look', 'MEDIUM', `${call.name} asks the network`)
    sends(call)
    const odd = findFlag(
      call.args,
      ['--script', '-f', '--script-args', '-oN', '-oX', '-oG', '-oA', '--interactive'],
      '',
    )
    if (odd) call.say('flag.unusual', 'HIGH', `${odd.arg.text} makes it run or write`, odd.arg)
  }),
  ...named('nc ncat netcat nc.openbsd nc.traditional', call => {
    const runs = findFlag(call.args, ['-e', '-c', '--exec', '--sh-exec', '--lua-exec'], 'weicpsXx')
    if (runs) call.say('flag.runs', 'HIGH', `${runs.arg.text} hands a connection to a program`, runs.arg)
    const listens = call.args.some(arg => /^-[a-z]*l|--listen/.test(arg.value))
    if (listens) call.say('net.door', 'HIGH', 'it opens a door to this machine')
    const looks = call.args.some(arg => /^-[a-z]*z/.test(arg.value))
    if (looks) call.say('net.look', 'MEDIUM', `${call.name} asks whether a port is open`)
    else call.say('net.raw', 'HIGH', `${call.name} opens a raw connection`)
    sends(call)
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
  ...named(
    'http-server serve static-server live-server caddy',
    always('MEDIUM', 'net.serve', 'serves files on the network'),
  ),
  ...named(
    'ssh-keygen ssh-add ssh-agent ssh-copy-id ssh-keyscan gpg gpg2 age sops pass keytool minisign gopass keybase',
    call => {
      const looks =
        call.name === 'ssh-keyscan' ||
        call.args.some(arg => /^(--version|-l|--list-keys|-k|--verify|-F)$/.test(arg.value))
      call.say('secret.keys', looks ? 'MEDIUM' : 'HIGH', `${call.name} handles keys`)
    },
  ),
  ...named(
    'fab ansible ansible-playbook ansible-galaxy ansible-vault cap salt salt-ssh pssh parallel-ssh clush dsh knife chef-client puppet mina capistrano kamal',
    call => {
      call.say('infra.remote', 'MEDIUM', `${call.name} changes other machines`)
      for (const arg of call.args) call.secret(arg)
      if (call.name === 'ansible-vault') call.say('secret.store', 'HIGH', 'it opens a vault')
    },
  ),
}

function ssh(call: Call): undefined {
  if (call.name === 'sshpass') {
    call.say('net.login', 'MEDIUM', 'sshpass hands over a password')
    const place = call.args.findIndex(arg => /^(ssh|scp|sftp|rsync)$/.test(arg.value))
    if (place >= 0) call.run(call.args.slice(place))
    return
  }
  const option = call.args.find(
    (arg, place) =>
      /proxycommand|localcommand|permitlocal|proxyjump=.*[;`$]|knownhostscommand|include|identityagent|pkcs11provider|proxyusefdpass/i.test(
        arg.value,
      ) || call.args[place - 1]?.value === '-F',
  )
  if (option) call.say('flag.runs', 'HIGH', `${option.text} makes ssh run something here`, option)
  const tunnel = call.args.find(arg => /^-[a-zA-Z46]*[LRDWw]\d*/.test(arg.value))
  if (tunnel) call.say('net.door', 'HIGH', `${tunnel.text} opens a tunnel`, tunnel)
  call.say('net.ssh', 'MEDIUM', 'ssh runs something on another machine')
  if (call.feed.file) call.say('net.send', 'HIGH', 'a file is fed to another machine')
  if (call.feed.piped) call.say('net.send', 'HIGH', 'bytes of another program reach another machine')
  if (call.feed.text) call.shell(call.feed.text)
  const rest = operandsOf(call.args, [
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
