/** A vendor's window as people call it: `five_hour` is `5-hour`. */
export function windowName(window: string): string {
  return NAMES[window] ?? window.replaceAll('_', ' ')
}

const NAMES: Record<string, string> = {
  hour: '1-hour',
  five_hour: '5-hour',
  seven_day: '7-day',
  seven_day_opus: '7-day Opus',
  seven_day_sonnet: '7-day Sonnet',
}
