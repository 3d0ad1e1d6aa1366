const DAYS = ['sun', 'mon', 'tues', 'wednes', 'thurs', 'fri', 'satur'] as const
const GROUPS: Record<string, string> = {
  day: '*',
  daily: '*',
  night: '*',
  weekday: '1-5',
  weekdays: '1-5',
  weekend: '0,6',
  weekends: '0,6',
}

/** "weekdays at 10 pm" is a day and a time; a time alone has no day. */
export function splitDay(said: string): { days: string | undefined; time: string } {
  const [, days, time = ''] = /^(?:(.*\S) )?(\S+)$/.exec(said.trim().replace(/ ([ap]m)$/, '$1')) ?? []
  return { days: days?.replace(/ ?\bat$/, '') || undefined, time }
}

/** Hour and minute of "22:00", "10pm" or "10:30pm". A number alone is no time. */
export function clockIn(text: string): [hour: number, minute: number] | undefined {
  const [, hours = '', minutes = '0', half] = /^(\d{1,2})(?::(\d\d))?(am|pm)?$/.exec(text) ?? []
  if (hours === '' || (half === undefined && !text.includes(':'))) return undefined
  const given = Number(hours)
  if (half !== undefined && (given < 1 || given > 12)) return undefined
  const hour = half === undefined ? given : (given % 12) + (half === 'pm' ? 12 : 0)
  return hour < 24 && Number(minutes) < 60 ? [hour, Number(minutes)] : undefined
}

/** The days of a week as cron has them, of "weekdays", "mon,thu" or "monday"; undefined where one of them is none. */
export function daysOf(names: string): string | undefined {
  const found = names.split(/ ?, ?/).map(name => GROUPS[name] ?? dayNumber(name))
  return found.includes(undefined) ? undefined : found.join(',')
}

function dayNumber(name: string): string | undefined {
  const day = DAYS.findIndex(each => name === each.slice(0, 3) || name === `${each}day`)
  return day < 0 ? undefined : String(day)
}
