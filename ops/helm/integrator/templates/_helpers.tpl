{{- define "integrator.labels" -}}
app.kubernetes.io/name: integrator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "integrator.image" -}}
{{ .Values.image.repository }}{{ with .Values.image.digest }}@{{ . }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- /* The channel file, with the state on the volume, and the monitor where probes reach it. */}}
{{- define "integrator.channel" -}}
{{- $channel := fromYaml .Values.channel }}
{{- with $channel.Error }}{{ fail (printf "channel: the file is no YAML: %s" .) }}{{ end }}
{{- range $name, $location := $channel.locations }}
{{- if not (has $location.class (list "postgres" "mysql" "mariadb" "kafka")) }}
{{- fail (printf "channel: location %s is of class %v; the chart runs channels of postgres, mysql, mariadb and kafka" $name $location.class) }}
{{- end }}
{{- end }}
{{- $ours := dict "state" "/var/lib/integrator/state" "monitor" (dict "listen" "0.0.0.0:8472") }}
{{- toYaml (mergeOverwrite $channel $ours) }}
{{- end }}
